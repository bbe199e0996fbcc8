//! The keys at which a merge changes its destination, as far as there is room to remember them.

/// Stretches of keys, in order, each with its first and its last key. Outside of them the merged
/// tree is the destination.
#[derive(Default)]
pub struct Stretches {
    rows: Vec<Stretch>,
    size: usize,
}

struct Stretch {
    first: Box<[u8]>,
    /// None where it is the first.
    last: Option<Box<[u8]>>,
}

impl Stretch {
    fn last(&self) -> &[u8] {
        self.last.as_deref().unwrap_or(&self.first)
    }
}

impl Stretches {
    /// Adds a stretch, which must be behind all before. Once they take `memory` bytes the last one
    /// is made longer instead.
    pub fn push(&mut self, first: &[u8], last: &[u8], memory: usize) {
        if self.size >= memory
            && let Some(open) = self.rows.last_mut()
        {
            open.last = Some(last.into());
            return;
        }
        self.size += size_of::<Stretch>() + first.len() + last.len();
        self.rows.push(Stretch {
            first: first.into(),
            last: (first != last).then(|| last.into()),
        });
    }

    /// Returns the number of the first stretch that ends at `key` or behind it, given that it is
    /// not one before number `from`.
    pub fn find(&self, from: usize, key: &[u8]) -> usize {
        let rows = &self.rows[from..];
        let mut step = 1;
        while rows.get(step - 1).is_some_and(|row| row.last() < key) {
            step *= 2;
        }
        let near = &rows[step / 2..rows.len().min(step)];
        from + step / 2 + near.partition_point(|row| row.last() < key)
    }

    /// Returns the first key of a stretch, None behind the last stretch.
    pub fn first_key(&self, number: usize) -> Option<&[u8]> {
        self.rows.get(number).map(|row| &*row.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(memory: usize) -> Stretches {
        let mut stretches = Stretches::default();
        for first in 0..20u8 {
            stretches.push(&[first * 10], &[first * 10 + first % 3], memory);
        }
        stretches
    }

    #[test]
    fn the_first_stretch_that_does_not_end_before_a_key_is_found() {
        let stretches = stretches(1 << 20);
        for key in 0..=255u8 {
            let expected = (0..20).position(|first| first * 10 + first % 3 >= key);
            for from in 0..=expected.unwrap_or(20) {
                assert_eq!(stretches.find(from, &[key]), expected.unwrap_or(20));
            }
        }
        assert_eq!(stretches.first_key(3), Some(&[30][..]));
        assert_eq!(stretches.first_key(20), None);
    }

    #[test]
    fn without_room_the_last_stretch_takes_in_what_follows() {
        let stretches = stretches(1);
        assert_eq!(stretches.find(0, &[191]), 0);
        assert_eq!(stretches.find(0, &[192]), 1);
        assert_eq!(stretches.first_key(0), Some(&[0][..]));
    }
}
