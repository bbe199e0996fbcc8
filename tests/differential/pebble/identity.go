package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"sort"
	"strconv"
)

// A tableDigest computes the id of a table: SHA-256 over its records and its
// metadata.
type tableDigest struct {
	sum     hash.Hash
	scratch []byte
}

func newTableDigest() *tableDigest {
	return &tableDigest{sum: sha256.New()}
}

// record adds the lengths, in decimal, and bytes of a key and a value.
func (d *tableDigest) record(key, value []byte) {
	text := d.scratch[:0]
	for _, part := range [][]byte{key, value} {
		text = strconv.AppendInt(text, int64(len(part)), 10)
		text = append(text, part...)
		text = append(text, '|')
	}
	d.sum.Write(text)
	d.scratch = text
}

// id adds the metadata, a map of strings in the typed form of identities, and
// returns the id in hexadecimal.
func (d *tableDigest) id(metadata map[string]string) string {
	names := make([]string, 0, len(metadata))
	for name := range metadata {
		names = append(names, name)
	}
	sort.Strings(names)
	stream := appendInt([]byte{4}, len(names))
	for _, name := range names {
		stream = appendString(stream, name)
		stream = appendString(stream, metadata[name])
	}
	d.sum.Write(stream)
	return hex.EncodeToString(d.sum.Sum(nil))
}

func appendInt(stream []byte, value int) []byte {
	return binary.BigEndian.AppendUint64(append(stream, 2, 8), uint64(value))
}

func appendString(stream []byte, value string) []byte {
	return append(appendInt(append(stream, 1), len(value)), value...)
}
