//! Every law on every case.

use tamis::loss::LossKind;
use tamis::recipe::{Family, Method, ScheduleKind, Schedules};
use tamis_testkit::contract::{Check, LONG, OPT_OUTS, compare, learners, opted_out};

/// One smooth loss, and one whose slope is often exactly zero.
const TWO: &[LossKind] = &[LossKind::Logistic, LossKind::Hinge];

/// Checks a law on every case, or the weaker law of the case, and reports all failures at once.
fn hold(check: Check, kinds: &[LossKind]) {
    let mut failures = Vec::new();
    for case in learners() {
        for &kind in kinds {
            let result = match opted_out(check, &case) {
                None => check.run(&case, kind),
                Some(_) => check.instead(&case, kind),
            };
            if let Err(problem) = result {
                failures.push(format!("{} with {} loss: {problem}", case.name, kind.name()));
            }
        }
    }
    assert!(failures.is_empty(), "{check:?} fails for\n{}", failures.join("\n"));
}

#[test]
fn law_1_batches_do_not_matter() {
    hold(Check::BatchCut, TWO);
}

#[test]
fn law_2_entry_order_is_irrelevant() {
    hold(Check::EntryOrder, TWO);
}

#[test]
fn law_2_an_explicit_zero_is_an_absent_feature() {
    hold(Check::ExplicitZero, TWO);
}

#[test]
fn law_3_features_appear_late_and_vanish() {
    hold(Check::LateAndVanishing, TWO);
}

#[test]
fn law_4_predicting_changes_nothing() {
    hold(Check::PredictingIsPure, TWO);
}

#[test]
fn law_5_save_load_and_continue_equals_an_uninterrupted_run() {
    hold(Check::SaveAndLoad, TWO);
}

#[test]
fn law_6_same_input_same_bits() {
    hold(Check::SameBits, TWO);
}

#[test]
fn law_7_memory_is_bounded_by_the_features() {
    hold(Check::BoundedMemory, TWO);
}

#[test]
fn law_7_idle_features_can_be_forgotten() {
    hold(Check::Forgetting, TWO);
}

#[test]
fn law_8_no_penalty_is_plain_sgd() {
    hold(Check::NoPenalty, &LossKind::ALL);
}

#[test]
fn law_8_a_huge_penalty_gives_the_empty_model() {
    hold(Check::HugePenalty, &LossKind::ALL);
}

#[test]
fn law_9_a_weight_can_return_to_zero() {
    hold(Check::ReturnsToZero, &[LossKind::Logistic, LossKind::Squared]);
}

#[test]
fn law_9_nonzeros_are_counted_exactly() {
    hold(Check::CountsNonzeros, &LossKind::ALL);
}

#[test]
fn law_10_fast_equals_naive() {
    hold(Check::FastEqualsNaive, &LossKind::ALL);
}

#[test]
fn opt_outs_name_cases_and_reasons() {
    let cases = learners();
    for out in OPT_OUTS {
        assert!(cases.iter().any(|case| case.has(out.cases)), "no case is called {:?}", out.cases);
        assert!(
            out.reason.split_whitespace().count() > 2,
            "{:?} opts out of {:?} without a reason",
            out.cases,
            out.check
        );
    }
}

#[test]
fn opt_outs_are_needed() {
    for case in learners() {
        for out in OPT_OUTS.iter().filter(|out| case.has(out.cases)) {
            let kept = [LossKind::Logistic, LossKind::Hinge].iter().all(|&kind| out.check.run(&case, kind).is_ok());
            assert!(!kept, "{} keeps {:?}: it need not opt out", case.name, out.check);
        }
    }
}

#[test]
fn cases_are_valid_and_cover_every_choice() {
    let cases = learners();
    for case in &cases {
        assert_eq!(case.recipe.check(), Ok(()), "{}", case.name);
        assert_eq!(cases.iter().filter(|other| other.name == case.name).count(), 1, "{} stands twice", case.name);
    }
    for method in Method::ALL.into_iter().filter(|method| method.info().family != Family::Staged) {
        let of_method = || cases.iter().filter(move |case| case.recipe.method.kind() == method);
        assert!(of_method().count() > 0, "{} has no case", method.name());
        assert!(
            !method.averages() || of_method().any(|case| case.recipe.method.is_averaged()),
            "{} is not averaged",
            method.name()
        );
        let schedules = method.info().schedules;
        for rate in ScheduleKind::ALL.into_iter().filter(|_| schedules != Schedules::Own) {
            let covered =
                of_method().any(|case| case.recipe.method.steps().is_some_and(|steps| steps.schedule == rate));
            let takes = schedules == Schedules::Any || !rate.is_adaptive();
            assert_eq!(covered, takes, "{} with {}", method.name(), rate.name());
        }
    }
}

#[test]
fn a_slightly_wrong_learner_fails_law_10() {
    for case in learners() {
        let (name, factor) = match case.recipe.method.kind() {
            Method::Sofs => ("sofs-r", 1.001),
            Method::SingleStage | Method::TwoStage => ("radius", 1.001),
            Method::Rounding => ("threshold", 2.0),
            Method::Rda => ("gamma", 1.001),
            Method::Tsgd | Method::Fofs | Method::Sgd => ("learning-rate", 1.001),
            _ => ("l1", 1.001),
        };
        // γ of rda is the only parameter without a value.
        let value: f64 = case.recipe.get(name).map_or(2.0, |text| text.parse().expect("a number"));
        let wrong = case.recipe.clone().with(name, value * factor);
        let result = compare(&wrong, &case.recipe, LossKind::Logistic, LONG);
        assert!(result.is_err(), "{}: {name} times {factor} goes unnoticed", case.name);
    }
}
