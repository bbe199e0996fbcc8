package main

import (
	"encoding/binary"
	"hash/fnv"
)

const (
	maxRangeSize    = 20 << 20
	rangeRaggedness = 50_000
)

// breaksAfter tells whether a range ends behind a key.
func breaksAfter(key []byte, size uint64) bool {
	if size >= maxRangeSize {
		return true
	}
	hash := fnv.New64a()
	hash.Write(key)
	return hash.Sum64()%rangeRaggedness == 0
}

// writeRanges writes all records as ranges into a folder.
func writeRanges(records *recordReader, folder string) ([]table, error) {
	var ranges []table
	var open *tableWriter
	finish := func() error {
		written, err := open.finish(folder)
		ranges = append(ranges, written)
		open = nil
		return err
	}
	for {
		r, more, err := records.next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if open == nil {
			open = newTableWriter("ranges")
		}
		if err := open.add(r); err != nil {
			return nil, err
		}
		if breaksAfter(r.key, open.writer.EstimatedSize()) {
			if err := finish(); err != nil {
				return nil, err
			}
		}
	}
	if open != nil {
		if err := finish(); err != nil {
			return nil, err
		}
	}
	return ranges, nil
}

// writeOne writes all records into one table.
func writeOne(records *recordReader, kind, folder string) (table, error) {
	writer := newTableWriter(kind)
	for {
		r, more, err := records.next()
		if err != nil {
			return table{}, err
		}
		if !more {
			return writer.finish(folder)
		}
		if err := writer.add(r); err != nil {
			return table{}, err
		}
	}
}

// writeMetarange writes the table that lists ranges.
func writeMetarange(ranges []table, folder string) (table, error) {
	writer := newTableWriter("metaranges")
	for _, r := range ranges {
		if err := writer.add(record{r.last, rangeValue(r)}); err != nil {
			return table{}, err
		}
	}
	return writer.finish(folder)
}

// rangeValue returns a range's id and, as a protobuf message, the rest that is
// known of it, each behind its length in zig-zag form.
func rangeValue(r table) []byte {
	var data []byte
	data = appendBytesField(data, 1, r.first)
	data = appendBytesField(data, 2, r.last)
	data = appendNumberField(data, 3, r.estimatedSize)
	data = appendNumberField(data, 4, uint64(r.count))
	var value []byte
	for _, part := range [][]byte{[]byte(r.id), data} {
		value = binary.AppendVarint(value, int64(len(part)))
		value = append(value, part...)
	}
	return value
}

func appendBytesField(message []byte, field byte, value []byte) []byte {
	if len(value) == 0 {
		return message
	}
	message = append(message, field<<3|2)
	message = binary.AppendUvarint(message, uint64(len(value)))
	return append(message, value...)
}

func appendNumberField(message []byte, field byte, value uint64) []byte {
	if value == 0 {
		return message
	}
	return binary.AppendUvarint(append(message, field<<3), value)
}
