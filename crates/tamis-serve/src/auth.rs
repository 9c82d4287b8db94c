//! Tokens: who may score, learn and administer.
//!
//! A line of the file is a token and its scopes, for example `3f9c…e1 score,learn`. Lines that begin with `#` are comments.

use std::path::Path;

use subtle::{Choice, ConstantTimeEq};

use crate::error::ServeError;

/// What a token allows. `admin` allows everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Score rows, and read what the model is.
    Score,
    /// Learn rows and labels.
    Learn,
    /// Take and replace the model, and write checkpoints.
    Admin,
}

impl Scope {
    const ALL: [Scope; 3] = [Scope::Score, Scope::Learn, Scope::Admin];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Score => "score",
            Scope::Learn => "learn",
            Scope::Admin => "admin",
        }
    }
}

/// Bytes of a token: enough that it cannot be guessed, and few enough that all can be compared as one array.
const SHORTEST: usize = 16;
const LONGEST: usize = 256;

/// A token, padded with zeros so that comparing takes the same time for every length.
struct Token {
    bytes: [u8; LONGEST],
    length: usize,
    scopes: Vec<Scope>,
}

/// All tokens; none means that every request is allowed.
#[derive(Default)]
pub struct Tokens(Vec<Token>);

/// The answer to a request for a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The request is allowed.
    Allowed,
    /// There is no such token.
    Unknown,
    /// The token lacks the scope.
    Lacking,
}

impl Tokens {
    /// Reads a file of tokens.
    pub fn load(path: &Path) -> Result<Tokens, ServeError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| ServeError::File { path: path.to_path_buf(), source })?;
        Tokens::parse(&text).map_err(|reason| ServeError::Tokens { path: path.to_path_buf(), reason })
    }

    fn parse(text: &str) -> Result<Tokens, String> {
        let mut tokens = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            if line.trim_start().starts_with('#') {
                continue;
            }
            let mut words = line.split_whitespace();
            let (token, scopes) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if !(SHORTEST..=LONGEST).contains(&token.len()) || words.next().is_some() {
                return Err(format!(
                    "line {number}: expected a token of {SHORTEST} to {LONGEST} characters and its scopes, for example \
                     `TOKEN score,learn`"
                ));
            }
            let scope_of = |name: &str| Scope::ALL.into_iter().find(|scope| scope.name() == name);
            let found: Option<Vec<Scope>> = scopes.split(',').map(scope_of).collect();
            let Some(scopes) = found else {
                return Err(format!("line {number}: {scopes:?} is not a list of score, learn and admin"));
            };
            tokens.push(Token { bytes: padded(token), length: token.len(), scopes });
        }
        if tokens.is_empty() { Err("there is no token in this file".into()) } else { Ok(Tokens(tokens)) }
    }

    /// Whether no token is needed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a request with this `Authorization` header has a scope. All tokens are compared, whichever matches.
    pub fn access(&self, authorization: Option<&str>, wanted: Scope) -> Access {
        if self.is_empty() {
            return Access::Allowed;
        }
        let (scheme, given) = authorization.and_then(|text| text.split_once(' ')).unwrap_or_default();
        let given = given.trim();
        if !scheme.eq_ignore_ascii_case("bearer") || given.len() > LONGEST {
            return Access::Unknown;
        }
        let (bytes, mut known, mut allowed) = (padded(given), Choice::from(0), Choice::from(0));
        for token in &self.0 {
            let is_equal = token.bytes.ct_eq(&bytes) & token.length.ct_eq(&given.len());
            let has_scope = token.scopes.iter().any(|scope| [wanted, Scope::Admin].contains(scope));
            known |= is_equal;
            allowed |= is_equal & Choice::from(u8::from(has_scope));
        }
        match (bool::from(known), bool::from(allowed)) {
            (_, true) => Access::Allowed,
            (true, false) => Access::Lacking,
            (false, false) => Access::Unknown,
        }
    }
}

fn padded(token: &str) -> [u8; LONGEST] {
    let mut bytes = [0; LONGEST];
    let length = token.len().min(LONGEST);
    bytes[..length].copy_from_slice(&token.as_bytes()[..length]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_scopes() {
        let tokens = Tokens::parse("# ours\naaaaaaaaaaaaaaaa score\n\nbbbbbbbbbbbbbbbb admin\n").unwrap();
        let access = |header: &str, scope| tokens.access(Some(header), scope);
        assert_eq!(access("Bearer aaaaaaaaaaaaaaaa", Scope::Score), Access::Allowed);
        assert_eq!(access("bearer aaaaaaaaaaaaaaaa", Scope::Learn), Access::Lacking);
        assert_eq!(access("Bearer bbbbbbbbbbbbbbbb", Scope::Learn), Access::Allowed, "admin may do everything");
        for wrong in
            ["Bearer aaaaaaaaaaaaaaab", "Bearer aaaaaaaaaaaaaaa", "Basic aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", ""]
        {
            assert_eq!(access(wrong, Scope::Score), Access::Unknown, "{wrong}");
        }
        let zeros = format!("Bearer aaaaaaaaaaaaaaaa{}", "\0".repeat(4));
        assert_eq!(access(&zeros, Scope::Score), Access::Unknown, "padding is not part of a token");
        assert_eq!(tokens.access(None, Scope::Score), Access::Unknown);
        assert_eq!(Tokens::default().access(None, Scope::Admin), Access::Allowed);
    }

    #[test]
    fn bad_files_say_where() {
        let complaint = |text: &str| Tokens::parse(text).err().unwrap_or_default();
        assert!(complaint("short score").starts_with("line 1: expected a token of 16 to 256 characters"));
        assert!(complaint("aaaaaaaaaaaaaaaa score learn").starts_with("line 1: expected"));
        assert_eq!(complaint("#\naaaaaaaaaaaaaaaa write"), "line 2: \"write\" is not a list of score, learn and admin");
        assert!(complaint("aaaaaaaaaaaaaaaa").contains("is not a list of"));
        assert_eq!(complaint("# nothing\n"), "there is no token in this file");
    }
}
