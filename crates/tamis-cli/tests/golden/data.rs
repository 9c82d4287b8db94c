//! The data of the golden cases: small, and the same everywhere, because only integers are drawn.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use crate::common::Folder;

/// A linear congruential generator.
struct Draw(u64);

impl Draw {
    fn uniform_below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// A number of thousandths between 0 and 1.
    fn unit(&mut self) -> f64 {
        self.uniform_below(1000) as f64 / 1000.0
    }
}

/// A sparse row with a class and a number to predict.
struct Sparse {
    class: u64,
    number: f64,
    values: BTreeMap<u64, f64>,
}

/// Rows of 12 features among `span`; a third of them are drawn from the few that belong to the row's class. The class
/// is wrong in one row of twelve. The number is a sum over the first nine features, with noise.
fn sparse(seed: u64, count: usize, span: u64, classes: u64) -> Vec<Sparse> {
    let mut draw = Draw(seed);
    let row = |_| {
        let class = draw.uniform_below(classes);
        let mut values = BTreeMap::new();
        while values.len() < 12 {
            let id = if draw.uniform_below(3) == 0 {
                1 + class + classes * draw.uniform_below(6)
            } else {
                1 + draw.uniform_below(span)
            };
            values.insert(id, 0.25 + draw.unit());
        }
        let effect = |(id, value): (&u64, &f64)| if *id < 10 { (5.0 - *id as f64) * value } else { 0.0 };
        let number = 2.0 + values.iter().map(effect).sum::<f64>() + draw.unit();
        let class = if draw.uniform_below(12) == 0 { draw.uniform_below(classes) } else { class };
        Sparse { class, number, values }
    };
    (0..count).map(row).collect()
}

fn svmlight(rows: &[Sparse], label: impl Fn(&Sparse) -> String) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&label(row));
        row.values.iter().for_each(|(id, value)| write!(text, " {id}:{value}").unwrap());
        text.push('\n');
    }
    text
}

/// JSON lines with the labels `ash`, `birch` and `cedar`.
fn json_lines(rows: &[Sparse]) -> String {
    let mut text = String::new();
    for row in rows {
        let values: BTreeMap<String, f64> = row.values.iter().map(|(id, value)| (format!("w{id}"), *value)).collect();
        let label = ["ash", "birch", "cedar"][row.class as usize];
        writeln!(text, "{}", serde_json::json!({"y": label, "x": values})).unwrap();
    }
    text
}

/// A table with a key, two columns of text, six of numbers, a class as text and a number to predict.
fn table(seed: u64, count: usize) -> String {
    let mut draw = Draw(seed);
    let mut text = String::from("id,colour,shape,a,b,c,d,e,f,kind,price\n");
    for row in 0..count {
        let (colour, shape) = (draw.uniform_below(4), draw.uniform_below(3));
        let values: [f64; 6] = std::array::from_fn(|_| draw.unit() - 0.5);
        let score = values[0] - 2.0 * values[1] * values[2] + 0.25 * colour as f64 - 0.5;
        let kind = if score + 0.4 * (draw.unit() - 0.5) > 0.0 { "yes" } else { "no" };
        let price = 3.0 * values[0] - values[3] + 0.5 * shape as f64 + 0.1 * draw.unit();
        write!(text, "r{row},{},", ["red", "green", "blue", "grey"][colour as usize]).unwrap();
        write!(text, "{},", ["round", "square", "flat"][shape as usize]).unwrap();
        values.iter().for_each(|value| write!(text, "{value:.3},").unwrap());
        writeln!(text, "{kind},{price:.4}").unwrap();
    }
    text
}

/// All data files: names and contents.
static FILES: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let class = |row: &Sparse| row.class.to_string();
    let number = |row: &Sparse| format!("{:.3}", row.number);
    let (two, three) = (sparse(1, 900, 300, 2), sparse(2, 600, 300, 3));
    // A checkpoint needs more rows than the few thousand that are looked at before learning begins.
    let long = sparse(5, 6000, 150, 2);
    vec![
        ("two.svm", svmlight(&two[..600], class)),
        ("new.svm", svmlight(&two[600..], class)),
        ("numbers.svm", svmlight(&two[..600], number)),
        ("new-numbers.svm", svmlight(&two[600..], number)),
        ("three.svm", svmlight(&three, class)),
        ("words.jsonl", json_lines(&three)),
        ("table.csv", table(3, 400)),
        ("new-table.csv", table(4, 150)),
        ("long.svm", svmlight(&long, class)),
        ("broken.svm", svmlight(&long[..5200], class) + "1 broken\n"),
    ]
});

/// Writes the data files that command lines name.
pub fn write(folder: &Folder, lines: &[String]) {
    let named = |name: &str| lines.iter().any(|line| line.split(' ').any(|word| word == name));
    for (name, text) in FILES.iter().filter(|(name, _)| named(name)) {
        folder.write(name, text);
    }
}
