//! The table of methods: one row per method, with its parameters and traits.

use serde::{Deserialize, Serialize};

use super::params::*;
use super::table::{Param, Params};
use super::{RecipeError, Signs};
use crate::data::ScaleKind;

/// How a method is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// In stages over stored rows.
    Staged,
    /// One row at a time.
    Online,
    /// One row at a time, then features are sampled.
    TwoStage,
}

/// Whether the learning-rate schedule can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// The schedule is fixed by the method.
    Own,
    /// Any schedule with the same step size for all weights.
    OneRate,
    /// Any schedule, also with a step size per weight.
    Any,
}

/// The traits of a method.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo {
    /// The name in files and front ends.
    pub name: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// How it is driven.
    pub family: Family,
    /// Whether the number of features is part of the algorithm and not a selection at the end.
    pub keeps_k: bool,
    /// Whether it can learn rows as they come and give a model after any of them.
    pub partial_fit: bool,
    /// Whether the schedule can be chosen.
    pub schedules: Schedules,
    /// The column scaling that `auto` stands for.
    pub scale: ScaleKind,
    /// Whether the order of the rows matters.
    pub follows_order: bool,
    /// Whether the method is a baseline for comparison only.
    pub baseline: bool,
}

/// What most methods have in common.
const ONLINE: MethodInfo = MethodInfo {
    name: "",
    about: "",
    family: Family::Online,
    keeps_k: false,
    partial_fit: true,
    schedules: Schedules::Any,
    scale: ScaleKind::Auto,
    follows_order: true,
    baseline: false,
};

macro_rules! methods {
    ($($(#[$doc:meta])* $Method:ident($Params:ident): $info:expr;)*) => {
        /// The methods by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Method { $($(#[$doc])* $Method,)* }

        /// A method with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum MethodParams { $($(#[$doc])* $Method($Params),)* }

        impl Method {
            /// All methods, in the order of the documentation.
            pub const ALL: [Method; [$(stringify!($Method)),*].len()] = [$(Method::$Method),*];

            /// The traits.
            pub const fn info(self) -> &'static MethodInfo {
                match self { $(Method::$Method => { const INFO: &MethodInfo = &$info; INFO })* }
            }

            /// The table of its parameters.
            pub const fn params(self) -> &'static [Param] {
                match self { $(Method::$Method => $Params::PARAMS,)* }
            }

            /// The method with its default parameters.
            pub fn with_defaults(self) -> MethodParams {
                match self { $(Method::$Method => MethodParams::$Method($Params::default()),)* }
            }
        }

        impl MethodParams {
            /// The method.
            pub fn kind(&self) -> Method {
                match self { $(MethodParams::$Method(_) => Method::$Method,)* }
            }

            /// The parameters.
            pub fn params(&self) -> &dyn Params {
                match self { $(MethodParams::$Method(params) => params,)* }
            }

            /// The parameters, to be changed.
            pub fn params_mut(&mut self) -> &mut dyn Params {
                match self { $(MethodParams::$Method(params) => params,)* }
            }
        }

        $(impl From<$Params> for MethodParams {
            fn from(params: $Params) -> Self {
                MethodParams::$Method(params)
            }
        })*
    };
}

methods! {
    /// Many paths on halves of the rows; stability selection along a size path.
    Stabilized(StabilizedParams): MethodInfo {
        name: "stabilized",
        about: "stability selection along SGD paths on subsamples (Ma & Zheng, improved): the default",
        family: Family::Staged,
        keeps_k: true,
        partial_fit: false,
        schedules: Schedules::Own,
        scale: ScaleKind::SqrtStd,
        follows_order: false,
        ..ONLINE
    };
    /// The stabilized algorithm as it was published.
    StabilizedPublished(PublishedParams): MethodInfo {
        name: "stabilized-published",
        about: "Ma & Zheng as published: for comparison with the paper, not to get a model",
        family: Family::Staged,
        partial_fit: false,
        schedules: Schedules::Own,
        scale: ScaleKind::UnitVariance,
        baseline: true,
        ..ONLINE
    };
    /// Stochastic gradient descent.
    Sgd(SgdParams): MethodInfo {
        name: "sgd",
        about: "stochastic gradient descent without a penalty; not sparse",
        ..ONLINE
    };
    /// Shrink weights within ±θ every K steps.
    TruncatedGradient(TruncatedGradientParams): MethodInfo {
        name: "truncated-gradient",
        about: "SGD that shrinks small weights towards zero (Langford, Li & Zhang)",
        ..ONLINE
    };
    /// Zero weights below θ every K steps.
    Rounding(RoundingParams): MethodInfo {
        name: "rounding",
        about: "SGD that sets small weights to zero every few steps",
        baseline: true,
        ..ONLINE
    };
    /// Forward-backward splitting (L1 or elastic net).
    Fobos(FobosParams): MethodInfo {
        name: "fobos",
        about: "forward-backward splitting: a soft threshold after each step; L1 or elastic net",
        ..ONLINE
    };
    /// Regularised dual averaging (L1 or elastic net).
    Rda(RdaParams): MethodInfo {
        name: "rda",
        about: "regularized dual averaging; L1 or elastic net",
        schedules: Schedules::Own,
        ..ONLINE
    };
    /// FTRL-proximal.
    Ftrl(FtrlParams): MethodInfo {
        name: "ftrl",
        about: "FTRL-proximal: a learning rate for each weight; L1 or elastic net",
        schedules: Schedules::Own,
        ..ONLINE
    };
    /// Keep the k largest weights after each step.
    Tsgd(TsgdParams): MethodInfo {
        name: "tsgd",
        about: "SGD that keeps the k largest weights after each step",
        keeps_k: true,
        schedules: Schedules::OneRate,
        baseline: true,
        ..ONLINE
    };
    /// First-order online feature selection.
    Fofs(FofsParams): MethodInfo {
        name: "fofs",
        about: "first-order online feature selection: keeps the k largest weights; for sparse rows (its step is constant)",
        keeps_k: true,
        schedules: Schedules::OneRate,
        baseline: true,
        ..ONLINE
    };
    /// Second-order online feature selection.
    Sofs(SofsParams): MethodInfo {
        name: "sofs",
        about: "second-order online feature selection: keeps the k most frequent features; not for dense rows, where all are",
        keeps_k: true,
        schedules: Schedules::Own,
        baseline: true,
        ..ONLINE
    };
    /// Stochastic ADMM.
    Sadmm(SadmmParams): MethodInfo {
        name: "sadmm",
        about: "stochastic ADMM for L1; costs O(features) a row",
        schedules: Schedules::OneRate,
        baseline: true,
        ..ONLINE
    };
    /// Projection on an ℓ₁ ball after each step.
    SingleStage(SingleStageParams): MethodInfo {
        name: "single-stage",
        about: "projected SGD on an L1 ball",
        schedules: Schedules::OneRate,
        baseline: true,
        ..ONLINE
    };
    /// Epochs inside an ℓ₁ and an ℓ₂ ball, then features drawn at random.
    TwoStage(TwoStageParams): MethodInfo {
        name: "two-stage",
        about: "trains a dense model in an L1 ball, then samples few features without bias (Li, Yang, Zhang & Jin)",
        family: Family::TwoStage,
        keeps_k: true,
        partial_fit: false,
        schedules: Schedules::Own,
        scale: ScaleKind::MaxAbs,
        ..ONLINE
    };
    /// Random Fourier features of few variables.
    Kernel(KernelParams): MethodInfo {
        name: "kernel",
        about: "a non-linear model of few variables and their interactions, by random Fourier features",
        family: Family::Staged,
        keeps_k: true,
        partial_fit: false,
        schedules: Schedules::Own,
        scale: ScaleKind::None,
        follows_order: false,
        ..ONLINE
    };
}

impl Method {
    /// The name in files and front ends.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The method of a name.
    pub fn of_name(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether it has a parameter.
    pub fn has(self, name: &str) -> bool {
        self.params().iter().any(|param| param.name.name == name)
    }

    /// The methods that have a parameter.
    pub fn owners(name: &str) -> Vec<Method> {
        Method::ALL.into_iter().filter(|method| method.has(name)).collect()
    }

    /// Whether its weights can be averaged over time.
    pub fn averages(self) -> bool {
        self.has("average")
    }

    /// Every parameter that some method has, once, in the order of the methods.
    pub fn all_params() -> Vec<&'static Param> {
        let mut all: Vec<&Param> = Vec::new();
        for param in Method::ALL.into_iter().flat_map(Method::params) {
            if !all.iter().any(|other| other.name == param.name) {
                all.push(param);
            }
        }
        all
    }
}

impl MethodParams {
    /// The name of the method.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The traits of the method.
    pub fn info(&self) -> &'static MethodInfo {
        self.kind().info()
    }

    /// Sets a parameter of the method from text.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), RecipeError> {
        if self.params_mut().assign(name, text)? {
            return Ok(());
        }
        let owners = Method::owners(name);
        let Some(owner) = owners.first() else { return Err(RecipeError::Unknown { name: name.into() }) };
        let param = owner.params().iter().find(|param| param.name.name == name).expect("the owner has it").name;
        let owners = owners.into_iter().map(Method::name).collect();
        Err(RecipeError::NotOfMethod { method: self.name(), param, owners })
    }

    /// The step sizes of methods whose schedule is a free choice.
    pub fn steps(&self) -> Option<Steps> {
        match self {
            MethodParams::Sgd(params) => Some(params.steps()),
            MethodParams::TruncatedGradient(params) => Some(params.steps()),
            MethodParams::Rounding(params) => Some(params.steps()),
            MethodParams::Fobos(params) => Some(params.steps()),
            MethodParams::Tsgd(params) => Some(params.steps()),
            MethodParams::Fofs(params) => Some(params.steps()),
            MethodParams::Sadmm(params) => Some(params.steps()),
            MethodParams::SingleStage(params) => Some(params.steps()),
            _ => None,
        }
    }

    /// λ₁ in force, for methods that have it.
    pub fn l1(&self, k: Option<usize>) -> Option<f64> {
        match self {
            MethodParams::TruncatedGradient(params) => Some(params.l1(k)),
            MethodParams::Fobos(params) => Some(params.l1(k)),
            MethodParams::Rda(params) => Some(params.l1(k)),
            MethodParams::Ftrl(params) => Some(params.l1(k)),
            MethodParams::Sadmm(params) => Some(params.l1(k)),
            _ => None,
        }
    }

    /// Whether weights are averaged over time.
    pub fn is_averaged(&self) -> bool {
        match self {
            MethodParams::Sgd(params) => params.average,
            MethodParams::TruncatedGradient(params) => params.average,
            MethodParams::Rounding(params) => params.average,
            MethodParams::Fobos(params) => params.average,
            MethodParams::Ftrl(params) => params.average,
            _ => false,
        }
    }

    /// Signs that weights must have.
    pub fn signs(&self) -> Option<&Signs> {
        match self {
            MethodParams::Sgd(params) => params.sign.as_ref(),
            MethodParams::TruncatedGradient(params) => params.sign.as_ref(),
            MethodParams::Rounding(params) => params.sign.as_ref(),
            MethodParams::Fobos(params) => params.sign.as_ref(),
            MethodParams::Rda(params) => params.sign.as_ref(),
            MethodParams::Ftrl(params) => params.sign.as_ref(),
            _ => None,
        }
    }

    /// A parameter as text; `None` if it is not given, or if the method has no such parameter.
    pub fn get(&self, name: &str) -> Option<String> {
        self.params().entries().into_iter().find(|entry| entry.param.name.name == name)?.value
    }
}
