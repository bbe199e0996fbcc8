//! Tables made to harm: their checksums hold, their contents lie. Whatever comes out, nothing
//! panics, nothing runs on without end, and no memory is set aside that the file cannot justify.

mod samples;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_tables::ranges::RangeWriter;
use anabranch_tables::table::footer::{FOOTER_LEN, Footer};
use anabranch_tables::table::stored_block::TRAILER_LEN;
use anabranch_tables::table::verify::verify;
use anabranch_tables::table::{BlockScan, RawBlock, Table};
use samples::{Random, sample_records, table_bytes};

/// No table in this file justifies more at once.
const LARGEST_ALLOCATION: usize = 64 << 20;

/// The system's allocator, which refuses what is too large (and so ends the test).
struct Bounded;

// SAFETY: it hands every call on to the system's allocator, or refuses by returning null.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGEST_ALLOCATION {
            return std::ptr::null_mut();
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

/// Does to a table whatever can be done to one.
fn exercise(bytes: Vec<u8>, random: &mut Random) {
    let Ok(table) = Table::from_bytes(bytes, "hostile") else {
        return;
    };
    let table = Arc::new(table);
    let _ = samples::walk(&table);
    let _ = verify(&table);
    let mut scratch = Vec::new();
    let mut cursor = table.cursor();
    for _ in 0..4 {
        let key = format!("folder/file-{:06}", random.below(3000));
        let _ = table.get(key.as_bytes(), &mut scratch);
        if cursor.seek(key.as_bytes()).is_ok() && cursor.valid() {
            let _ = (cursor.key().len(), cursor.value().len());
            let _ = cursor.next();
        }
    }
    let mut scan = BlockScan::default();
    for block in 0..table.block_count().min(8) {
        let _ = scan.load(&table, block);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut writer = RangeWriter::new(folder.path());
    let _ = (0..table.block_count()).try_for_each(|block| writer.add_block(&table, block));
}

/// Where the blocks of a good table lie: each one's first byte and length without trailer.
fn blocks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let footer = Footer::read(bytes).unwrap();
    let table = Table::from_bytes(bytes.to_vec(), "good").unwrap();
    let mut found = Vec::new();
    let mut offset = 0;
    for block in 0..table.block_count() {
        let length = table.raw_block(block).unwrap().stored.len();
        found.push((offset, length));
        offset += length + TRAILER_LEN;
    }
    for handle in [footer.index, footer.metaindex] {
        found.push((handle.offset as usize, handle.length as usize));
    }
    let properties = (footer.index.offset + footer.index.length) as usize + TRAILER_LEN;
    found.push((
        properties,
        footer.metaindex.offset as usize - TRAILER_LEN - properties,
    ));
    found
}

/// Replaces a block's content by one of the same stored length whose checksum holds.
fn put_block(bytes: &mut [u8], block: (usize, usize), compression: u8, stored: &[u8]) {
    let mut sealed = Vec::new();
    RawBlock {
        compression,
        stored,
    }
    .append_to(&mut sealed);
    bytes[block.0..block.0 + block.1 + TRAILER_LEN].copy_from_slice(&sealed);
}

/// Changes a few bytes of one block, or of the footer, and makes the checksum hold again.
fn mutate(bytes: &mut [u8], blocks: &[(usize, usize)], random: &mut Random) {
    const TELLING: [u8; 8] = [0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0x10, 0x40];
    let number = random.below(blocks.len() + 1);
    if number == blocks.len() {
        let start = bytes.len() - FOOTER_LEN;
        bytes[start + random.below(FOOTER_LEN)] = random.next() as u8;
        return;
    }
    let block = blocks[number];
    let mut stored = bytes[block.0..block.0 + block.1].to_vec();
    for _ in 0..=random.below(6) {
        // Lengths and offsets lie at the ends, so that is where most harm is done.
        let position = match random.below(3) {
            0 => random.below(stored.len().min(12)),
            1 => stored.len() - 1 - random.below(stored.len().min(12)),
            _ => random.below(stored.len()),
        };
        stored[position] = match random.below(2) {
            0 => TELLING[random.below(TELLING.len())],
            _ => random.next() as u8,
        };
    }
    let compression = match random.below(10) {
        0 => random.below(3) as u8,
        _ => bytes[block.0 + block.1],
    };
    put_block(bytes, block, compression, &stored);
}

fn attack(time: Duration, seed: u64) {
    let mut random = Random(seed);
    let tables: Vec<Vec<u8>> = [1, 40, 700]
        .map(|count| table_bytes(&sample_records(count)))
        .into();
    let all_blocks: Vec<_> = tables.iter().map(|bytes| blocks(bytes)).collect();
    let end = Instant::now() + time;
    let mut rounds = 0;
    while Instant::now() < end || rounds < 200 {
        let which = random.below(tables.len());
        let mut bytes = tables[which].clone();
        for _ in 0..=random.below(3) {
            mutate(&mut bytes, &all_blocks[which], &mut random);
        }
        exercise(bytes, &mut random);
        rounds += 1;
    }
}

#[test]
fn random_lies_do_no_harm() {
    attack(Duration::from_secs(3), 0x00c0_ffee);
}

#[test]
#[ignore = "takes a minute"]
fn random_lies_do_no_harm_for_a_minute() {
    let seed = Instant::now().elapsed().as_nanos() as u64 | 1;
    attack(
        Duration::from_secs(60),
        seed ^ u64::from(std::process::id()) << 20,
    );
}

/// Every value at each of the first and last bytes of every block, one at a time.
#[test]
fn every_value_at_the_telling_places_does_no_harm() {
    let bytes = table_bytes(&sample_records(40));
    let mut random = Random(7);
    for block in blocks(&bytes) {
        let compression = bytes[block.0 + block.1];
        let ends = (0..6).chain(block.1.saturating_sub(10)..block.1);
        for position in ends {
            for value in 0..=255 {
                let mut stored = bytes[block.0..block.0 + block.1].to_vec();
                stored[position] = value;
                let mut hostile = bytes.clone();
                put_block(&mut hostile, block, compression, &stored);
                if let Ok(table) = Table::from_bytes(hostile, "hostile") {
                    let table = Arc::new(table);
                    let _ = samples::walk(&table);
                    let key = format!("folder/file-{:06}", random.below(60));
                    let _ = table.get(key.as_bytes(), &mut Vec::new());
                }
            }
        }
    }
}

#[test]
fn gigabytes_that_are_claimed_are_not_set_aside() {
    let bytes = table_bytes(&sample_records(40));
    for block in blocks(&bytes) {
        let mut stored = vec![0; block.1];
        stored[..5].copy_from_slice(b"\xff\xff\xff\xff\x0f");
        let mut hostile = bytes.clone();
        put_block(&mut hostile, block, 1, &stored);
        if let Ok(table) = Table::from_bytes(hostile, "hostile") {
            assert!(samples::walk(&Arc::new(table)).is_err());
        }
    }
}
