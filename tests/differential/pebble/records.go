package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// A record is a key and a framed value. On standard input each of them comes
// behind its length, four bytes, little-endian.
type record struct {
	key, value []byte
}

// A recordReader reads records until the input ends.
type recordReader struct {
	input *bufio.Reader
}

func newRecordReader(input io.Reader) *recordReader {
	return &recordReader{bufio.NewReaderSize(input, 1<<20)}
}

// next returns the next record, false at the end of the input.
func (r *recordReader) next() (record, bool, error) {
	key, err := r.part()
	if errors.Is(err, io.EOF) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	value, err := r.part()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return record{key, value}, err == nil, err
}

func (r *recordReader) part() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r.input, length[:]); err != nil {
		return nil, err
	}
	part := make([]byte, binary.LittleEndian.Uint32(length[:]))
	_, err := io.ReadFull(r.input, part)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return part, err
}
