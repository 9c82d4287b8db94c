//! The program as people expect one: completions, manual pages, version, colours, recipe files, exit codes.

mod common;

use common::{Folder, table};

fn with_table() -> Folder {
    let folder = Folder::new();
    folder.write("t.csv", table("age,visits,y", |_, _| {}));
    folder
}

#[test]
fn completions_name_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.ok(&format!("completions {shell}"));
        for word in ["fit", "export", "resize", "stability", "dialect"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let run = folder.shell("$TAMIS completions bash > c.bash && source c.bash && complete -p tamis");
    assert!(run.code == Some(0) && run.out.contains("tamis"), "{}", run.err);
    assert_eq!(folder.run("completions tcsh").code, Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    folder.shell("mkdir man").ok("mkdir");
    folder.ok("man man");
    for page in ["tamis", "tamis-fit", "tamis-export", "tamis-moments-merge", "tamis-metric-fit"] {
        let text = folder.text(&format!("man/{page}.1"));
        assert!(text.contains(".TH") && text.contains(".SH NAME"), "{page}");
    }
    assert!(folder.run("man none").complaint().starts_with("none: "));
}

#[test]
fn the_version_says_what_was_built() {
    let folder = Folder::new();
    let short = folder.ok("-V");
    assert_eq!(short, format!("tamis {}\n", env!("CARGO_PKG_VERSION")));
    let long = folder.ok("--version");
    assert!(long.starts_with(short.trim_end()) && long.contains(std::env::consts::ARCH), "{long}");
    assert!(long.contains("model files: format 2") && !long.contains('/'), "no path of a machine: {long}");
}

#[test]
fn colours_follow_the_usual_rules() {
    let folder = with_table();
    let pipe = folder.ok("--help");
    assert!(!pipe.contains('\u{1b}'), "no colours without a terminal");
    // util-linux's `script` gives the program a terminal.
    let terminal =
        |settings: &str| folder.shell(&format!("{settings} script -qec \"$TAMIS --help\" /dev/null < /dev/null"));
    let coloured = terminal("env -u NO_COLOR TERM=xterm-256color");
    if coloured.code != Some(0) {
        eprintln!("SKIPPED: there is no program `script` to make a terminal");
        return;
    }
    assert!(coloured.out.contains('\u{1b}'), "colours on a terminal");
    let plain = terminal("env NO_COLOR=1 TERM=xterm-256color");
    assert!(plain.code == Some(0) && plain.out.contains("Usage") && !plain.out.contains("\u{1b}[1m"), "{}", plain.out);
}

#[test]
fn a_recipe_file_repeats_a_fit() {
    let folder = with_table();
    folder.ok("fit t.csv --target y --method ftrl --l1 0.25 --no-intercept --seed 3 --quiet --out a.json");
    folder.write("r.toml", folder.ok("inspect a.json --recipe"));
    let recipe = folder.text("r.toml");
    assert!(recipe.contains("method = \"ftrl\"\n") && recipe.contains("l1 = 0.25\n"), "{recipe}");
    assert!(
        recipe.contains("intercept = false\n") && recipe.contains("seed = 3\n") && !recipe.contains("l2"),
        "{recipe}"
    );
    folder.ok("fit t.csv --target y --recipe r.toml --quiet --out b.json");
    assert_eq!(folder.read("a.json"), folder.read("b.json"));
    folder.ok("fit t.csv --target y --recipe r.toml --l1 0.5 --quiet --out c.json");
    assert!(folder.ok("inspect c.json --recipe").contains("l1 = 0.5\n"), "flags override the file");
    folder.ok("tune t.csv --target y --method ftrl --l1 0.1,5 --folds 3 --save-recipe best.toml --quiet --out d.json");
    folder.ok("fit t.csv --target y --recipe best.toml --quiet --out e.json");
    assert_eq!(folder.read("d.json"), folder.read("e.json"), "what tune chose");
}

#[test]
fn a_bad_recipe_file_is_refused() {
    let folder = with_table();
    let refused = |text: &str| {
        let run = folder.write("r.toml", text).run("fit t.csv --target y --recipe r.toml --out m.json");
        assert_eq!(run.code, Some(2), "{}", run.out);
        run.err
    };
    assert!(refused("lambda = 1").contains("r.toml: lambda is no parameter"));
    assert!(refused("method = \"ftrl\"\nl1 = -1").contains("l1"));
    assert!(refused("l1 = ").contains("r.toml: "));
    assert!(refused("method = \"sgd\"\nl1 = 1").contains("l1"), "sgd has no penalty");
    let none = folder.run("fit t.csv --target y --recipe none.toml");
    assert!(none.code == Some(2) && none.err.contains("none.toml: "), "{}", none.err);
    folder.ok("moments t.csv --target y -o t.moments --quiet");
    folder.ok("solve t.moments --method ols -o s.json --quiet");
    assert!(folder.run("inspect s.json --recipe").complaint().contains("it was solved from moments"));
}

#[test]
fn exit_codes_are_those_of_the_documentation() {
    let folder = with_table();
    assert!(folder.ok("--help").contains("Exit codes: 0 success, 2 error, 130 interrupted"));
    assert_eq!(folder.run("fit t.csv --target y --method ftrl --quiet --out m.json").code, Some(0));
    assert_eq!(folder.run("fit none.csv").code, Some(2), "an error of the data");
    assert_eq!(folder.run("fit --no-such-flag").code, Some(2), "an error of the command line");
    let closed = folder.shell("$TAMIS inspect m.json | true; exit ${PIPESTATUS[0]}");
    assert_eq!(closed.code, Some(0), "a reader that goes away is no error: {}", closed.err);
    let line = "(mkfifo p; sleep 2 > p & $TAMIS fit p --format svm --method ftrl --quiet --out x.json & pid=$!; \
                sleep 0.5; kill -INT $pid; wait $pid; echo $?)";
    let interrupted = folder.shell(&format!("set -m; {line}"));
    assert!(interrupted.out.contains("130"), "{} {}", interrupted.out, interrupted.err);
}
