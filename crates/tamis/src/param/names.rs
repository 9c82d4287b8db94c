//! The table of parameter names: one row per parameter, with its flag and its name in Python where they differ.

use super::ParamName;

macro_rules! names {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $flag:literal, $python:literal;)*) => {
        $($(#[$doc])* pub const $id: ParamName = ParamName { name: $name, flag: $flag, python: $python };)*

        /// Every name of the table.
        pub const ALL: &[ParamName] = &[$($id),*];
    };
}

names! {
    // Recipes: parameters of every method.
    /// The method.
    METHOD = "method", "method", "method";
    /// The loss.
    LOSS = "loss", "loss", "loss";
    /// δ of the Huber loss.
    HUBER_DELTA = "huber-delta", "huber-delta", "huber_delta";
    /// τ of the quantile loss.
    QUANTILE = "quantile", "quantile", "quantile";
    /// The number of features.
    K = "k", "k", "n_features_to_select";
    /// The false discovery rate of the confirmed features.
    FDR = "fdr", "fdr", "fdr";
    /// Column scaling.
    SCALE = "scale", "scale", "scale";
    /// Row scaling.
    ROW_SCALE = "row-scale", "row-scale", "row_scale";
    /// Passes over the rows.
    PASSES = "passes", "passes", "max_iter";
    /// Random order of the rows.
    SHUFFLE = "shuffle", "shuffle", "shuffle";
    /// The intercept.
    INTERCEPT = "intercept", "intercept", "fit_intercept";
    /// A second fit of the chosen features.
    REFIT = "refit", "refit", "refit";
    /// Weights of classes.
    CLASS_WEIGHT = "class-weight", "class-weight", "class_weight";
    /// Products of columns.
    INTERACTIONS = "interactions", "interactions", "interactions";
    /// The column of the offset.
    OFFSET = "offset", "offset", "offset";
    /// Bits of feature hashing.
    HASH_BITS = "hash-bits", "hash-bits", "hash_bits";
    /// The seed.
    SEED = "seed", "seed", "random_state";

    // Recipes: parameters of some methods.
    /// λ₁.
    L1 = "l1", "l1", "alpha";
    /// λ₂.
    L2 = "l2", "l2", "l2";
    /// The first step.
    LEARNING_RATE = "learning-rate", "learning-rate", "learning_rate";
    /// Signs of weights.
    SIGN = "sign", "sign", "sign";
    /// How steps shrink.
    SCHEDULE = "schedule", "schedule", "schedule";
    /// The exponent of the schedule `power`.
    POWER = "power", "power", "power";
    /// Averaged weights.
    AVERAGE = "average", "average", "average";
    /// θ of truncated gradient and rounding.
    THRESHOLD = "threshold", "threshold", "threshold";
    /// K of truncated gradient and rounding.
    PERIOD = "period", "period", "period";
    /// β of FTRL.
    BETA = "beta", "beta", "beta";
    /// γ of dual averaging.
    GAMMA = "gamma", "gamma", "gamma";
    /// ρ of dual averaging.
    RDA_RHO = "rda-rho", "rda-rho", "rda_rho";
    /// λ of FOFS.
    FOFS_LAMBDA = "fofs-lambda", "fofs-lambda", "fofs_lambda";
    /// r of SOFS.
    SOFS_R = "sofs-r", "sofs-r", "sofs_r";
    /// ρ of ADMM.
    ADMM_RHO = "admm-rho", "admm-rho", "admm_rho";
    /// The radius of an ℓ₁ ball.
    RADIUS = "radius", "radius", "radius";
    /// T₁ of two-stage.
    FIRST_EPOCH_STEPS = "first-epoch-steps", "first-epoch-steps", "first_epoch_steps";
    /// K of two-stage.
    N_DRAWS = "n-draws", "n-draws", "n_draws";
    /// ε of two-stage.
    EPSILON = "epsilon", "epsilon", "epsilon";
    /// δ of two-stage.
    DELTA = "delta", "delta", "delta";
    /// The sampling law of two-stage.
    SAMPLING = "sampling", "sampling", "sampling";
    /// The refinement of two-stage.
    REFINE = "refine", "refine", "refine";
    /// Paths of the stabilized methods.
    N_PATHS = "n-paths", "n-paths", "n_paths";
    /// The share of evidence that a warm start drops.
    WARM_START_DECAY = "warm-start-decay", "warm-start-decay", "warm_start_decay";
    /// The column that identifies a row.
    ROW_ID = "row-id", "row-id", "row_id";
    /// K₀ of the published stabilized algorithm.
    BURST = "burst", "burst", "burst";
    /// n_K of it.
    BURSTS = "bursts", "bursts", "bursts";
    /// β₀ of it.
    REJECTION = "rejection", "rejection", "rejection";
    /// γ of it.
    ANNEALING = "annealing", "annealing", "annealing";
    /// π₀ of it.
    CUTOFF = "cutoff", "cutoff", "cutoff";
    /// Its convergence criterion.
    TOLERANCE = "tolerance", "tolerance", "tolerance";
    /// δ_K of it.
    EVIDENCE = "evidence", "evidence", "evidence";
    /// α of it.
    GROWTH = "growth", "growth", "growth";
    /// p of it.
    TOTAL_COLUMNS = "total-columns", "total-columns", "total_columns";
    /// Which updates it counts.
    COUNT = "count", "count", "count";
    /// What its κ counts.
    EVIDENCE_IN = "evidence-in", "evidence-in", "evidence_in";
    /// Its annealing curve.
    ANNEALING_CURVE = "annealing-curve", "annealing-curve", "annealing_curve";

    /// The input map of the kernel method.
    INPUTS = "inputs", "inputs", "inputs";
    /// Its family of frequencies.
    FAMILY = "family", "family", "family";
    /// Its number of random Fourier features.
    N_FOURIER = "n-fourier", "n-fourier", "n_fourier";
    /// The variables of its search.
    MAX_VARIABLES = "max-variables", "max-variables", "max_variables";

    // Solving from moments.
    /// λ of a solver.
    LAMBDA = "lambda", "lambda", "alpha";
    /// How the size is chosen.
    CRITERION = "criterion", "criterion", "criterion";
    /// The lasso's share of the elastic net.
    L1_RATIO = "l1-ratio", "l1-ratio", "l1_ratio";
    /// γ of MCP, a of SCAD.
    CONCAVITY = "concavity", "concavity", "concavity";

    // Input and training.
    /// The kind of labels.
    TASK = "task", "task", "task";
    /// The format of a file.
    FORMAT = "format", "format", "format";
    /// The label's column.
    TARGET = "target", "target", "target";
    /// A file of labels.
    LABELS = "labels", "labels", "labels";
    /// Unused columns.
    IGNORE = "ignore", "ignore", "ignore";
    /// Categorical columns.
    CATEGORICAL = "categorical", "categorical", "categorical";
    /// Numeric columns.
    NUMERIC = "numeric", "numeric", "numeric";
    /// Columns of free text.
    TEXT = "text", "text", "text";
    /// What dates become.
    DATES = "dates", "dates", "dates";
    /// The fewest rows of a level.
    MIN_COUNT = "min-count", "min-count", "min_count";
    /// Texts that mean a missing value.
    NA = "na", "na", "na";
    /// The decimal sign.
    DECIMAL = "decimal", "decimal", "decimal";
    /// The separator of fields.
    DELIMITER = "delimiter", "delimiter", "delimiter";
    /// The encoding of text.
    ENCODING = "encoding", "encoding", "encoding";
    /// Tables without a header.
    NO_HEADER = "no-header", "no-header", "no_header";
    /// Missing values.
    MISSING = "missing", "missing", "missing";
    /// Columns of the model that the data lacks.
    MISSING_COLUMNS = "missing-columns", "missing-columns", "missing_columns";
    /// svmlight indices that start at 0.
    ZERO_BASED = "zero-based", "zero-based", "zero_based";
    /// The longest line.
    MAX_LINE = "max-line", "max-line", "max_line";
    /// The largest decompressed file.
    MAX_UNPACKED = "max-unpacked", "max-unpacked", "max_unpacked";
    /// Memory.
    MEMORY = "memory", "memory", "memory";
    /// The memory of the learner and the names.
    MAX_MEMORY = "max-memory", "max-memory", "max_memory";
    /// The folder of the row cache.
    CACHE_DIR = "cache-dir", "cache-dir", "cache_dir";
    /// The checkpoint to write.
    CHECKPOINT = "checkpoint", "checkpoint", "checkpoint";
    /// The checkpoint to resume from.
    RESUME = "resume", "resume", "resume";
    /// The same rows a second time.
    AGAIN = "again", "again", "again";

    // Moments.
    /// Cross-validation folds kept in moments.
    MOMENTS_FOLDS = "folds", "folds", "folds";
    /// The decay rate of moments.
    DECAY = "decay", "decay", "decay";
    /// The number of screened features.
    SCREEN = "screen", "screen", "screen";
    /// Moments whose features are kept.
    FEATURES_OF = "features-of", "features-of", "features_of";
}
