//! Stories that each check must refuse.

use super::*;
