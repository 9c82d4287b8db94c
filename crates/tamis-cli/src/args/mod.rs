//! Groups of flags that several commands share. The flags of one command stand beside it, in `command/`.

pub mod byte_size;
pub mod input;
pub mod output;
pub mod recipe;
pub mod recipe_file;
pub mod training;
