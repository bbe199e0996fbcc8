//! The checksums of uploads that Python does not have: CRC-32C and CRC-64/NVME.
//!
//! Both are incremental: they continue from the checksum of the preceding bytes. CRC-64/NVME uses
//! tables and processes 16 bytes per step ("slicing-by-16"): table `k` has the contribution of a
//! byte that is followed by `k` more bytes.

use crc32c::crc32c_append;

/// The polynomial of the NVM Command Set Specification 1.0d, 5.2.1.3.4, reflected.
const NVME: u64 = 0x9a6c_9329_ac4b_c9b5;
const STEP: usize = 16;

static TABLES: [[u64; 256]; STEP] = tables();

const fn tables() -> [[u64; 256]; STEP] {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            value = (value >> 1) ^ ((value & 1) * NVME);
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut follow = 1;
    while follow < STEP {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[follow - 1][byte];
            tables[follow][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        follow += 1;
    }
    tables
}

/// Continues a CRC-32C with `data`; `value` is the checksum so far, 0 to begin.
pub fn crc32c(data: &[u8], value: u32) -> u32 {
    crc32c_append(value, data)
}

/// Continues a CRC-64/NVME with `data`; `value` is the checksum so far, 0 to begin.
pub fn crc64nvme(data: &[u8], value: u64) -> u64 {
    let (steps, rest) = data.as_chunks::<STEP>();
    let mut crc = !value;
    for step in steps {
        let head = crc.to_le_bytes();
        let mut next = 0;
        for (at, &byte) in step.iter().enumerate() {
            let mixed = if at < 8 { byte ^ head[at] } else { byte };
            next ^= TABLES[STEP - 1 - at][usize::from(mixed)];
        }
        crc = next;
    }
    for &byte in rest {
        crc = (crc >> 8) ^ TABLES[0][usize::from(byte ^ crc as u8)];
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHECK: &[u8] = b"123456789";

    #[test]
    fn check_values_of_the_catalogue() {
        assert_eq!(crc32c(CHECK, 0), 0xe306_9283);
        assert_eq!(crc64nvme(CHECK, 0), 0xae8b_1486_0a79_9888);
        assert_eq!(crc32c(b"", 0), 0);
        assert_eq!(crc64nvme(b"", 0), 0);
    }

    /// Bit by bit, as the specification writes it.
    fn slow(data: &[u8]) -> u64 {
        let mut crc = !0;
        for &byte in data {
            crc ^= u64::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 {
                    (crc >> 1) ^ NVME
                } else {
                    crc >> 1
                };
            }
        }
        !crc
    }

    proptest! {
        #[test]
        fn pieces_give_the_checksum_of_the_whole(
            data in prop::collection::vec(any::<u8>(), 0..200),
            cut in any::<prop::sample::Index>(),
        ) {
            let (left, right) = data.split_at(cut.index(data.len() + 1));
            prop_assert_eq!(crc64nvme(right, crc64nvme(left, 0)), slow(&data));
            prop_assert_eq!(crc32c(right, crc32c(left, 0)), crc32c(&data, 0));
        }
    }
}
