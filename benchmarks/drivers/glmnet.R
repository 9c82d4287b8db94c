# What glmnet says to the claims of comparison.py: Rscript glmnet.R FOLDER, with rows.mtx and labels.txt in it.
# Each line of the output is a key and a value.

suppressPackageStartupMessages({ library(Matrix); library(glmnet) })
folder <- commandArgs(TRUE)[1]
tell <- function(key, value) cat(key, "\t", value, "\n", sep = "")
fails <- function(code) inherits(try(code, silent = TRUE), "try-error")

x <- as(readMM(file.path(folder, "rows.mtx")), "CsparseMatrix")
y <- scan(file.path(folder, "labels.txt"), quiet = TRUE)
colnames(x) <- paste0("f", seq_len(ncol(x)))
fit <- glmnet(x, y, family = "binomial")
tell("version", as.character(packageVersion("glmnet")))
tell("fits", length(fit$lambda) > 1)

# The file: a whole path is saved as a sparse matrix, which may hold zeros.
saveRDS(fit, file.path(folder, "glmnet.rds"))
saved <- readRDS(file.path(folder, "glmnet.rds"))
tell("stored", length(saved$beta@x))
tell("nonzero", sum(saved$beta != 0))

tell("sizes", paste(sort(unique(fit$df)), collapse = " "))
tell("frequency", any(grepl("frequency|stability", names(fit))))
tell("names", all(c("f1", "f2") %in% rownames(coef(fit))))
tell("resume", any(grepl("resume|warm|start|init", names(formals(glmnet)))))
tell("update", !is.null(getS3method("update", "glmnet", optional = TRUE)))
wider <- cbind(x, new = rep(1, nrow(x)))
tell("wider", !fails(predict(fit, wider)))

# Sizes with held-out errors; a smaller model needs no rows.
set.seed(0)
folds <- cv.glmnet(x, y, family = "binomial", nfolds = 5)
rm(x)
small <- max(which(folds$nzero <= 10))
tell("path", length(folds$cvm) == length(folds$nzero) && all(folds$cvsd > 0) && sum(coef(folds, s = folds$lambda[small]) != 0) <= 11)

dense <- matrix(rnorm(150), 50)
numbers <- rnorm(50)
tell("matrix", !fails(glmnet(dense, numbers)))
tell("frame", ncol(makeX(data.frame(a = rnorm(50), b = factor(rep(c("u", "v"), 25))))) == 3)
