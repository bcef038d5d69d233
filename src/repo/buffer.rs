//! Where files are read into: one space for all that a thread reads, one after the other.

use std::fs::File;
use std::io::{self, Read};

/// More than this is given back after a huge file.
const KEPT: usize = 4 * 1024 * 1024;

/// Where files are read into, one after the other. What was allocated (and cleared) once serves all that follow.
#[derive(Debug, Default)]
pub struct Buffer {
    space: Vec<u8>,
    filled: usize,
}

impl Buffer {
    /// The bytes of the file that was read last.
    pub fn bytes(&self) -> &[u8] {
        self.space.get(..self.filled).unwrap_or_default()
    }

    /// Forgets what was read last.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Reads to the end of the file or to `limit`, whichever comes first, over what was here before. Says whether it
    /// was the end.
    ///
    /// # Errors
    /// What the system says.
    pub fn fill(&mut self, mut file: &File, limit: usize) -> io::Result<bool> {
        const CHUNK: usize = 64 * 1024;
        self.clear();
        loop {
            if self.filled >= limit {
                return Ok(file.read(&mut [0_u8])? == 0);
            }
            if self.filled == self.space.len() {
                self.space.resize(self.filled + CHUNK.max(self.filled), 0);
            }
            let end = self.space.len().min(limit);
            match file.read(self.space.get_mut(self.filled..end).unwrap_or_default()) {
                Ok(0) => return Ok(true),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives memory back that only a huge file needed.
    pub fn shrink(&mut self) {
        if self.space.len() > KEPT {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_stops_at_the_limit_and_says_so() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("f");
        std::fs::write(&path, "0123456789").unwrap();
        let mut buffer = Buffer::default();
        assert!(!buffer.fill(&File::open(&path).unwrap(), 4).unwrap());
        assert_eq!(buffer.bytes(), b"0123");
        assert!(buffer.fill(&File::open(&path).unwrap(), 10).unwrap());
        assert_eq!(buffer.bytes(), b"0123456789");
    }
}
