package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cockroachdb/pebble/sstable"
)

// memoryFile takes the bytes of a table while Pebble writes it.
type memoryFile struct {
	bytes.Buffer
}

func (*memoryFile) Close() error { return nil }
func (*memoryFile) Sync() error  { return nil }

// staticProperties puts properties into a table that are known at its end.
type staticProperties struct {
	properties map[string]string
}

func (*staticProperties) Name() string                          { return "static" }
func (*staticProperties) Add(sstable.InternalKey, []byte) error { return nil }

func (s *staticProperties) Finish(properties map[string]string) error {
	for name, value := range s.properties {
		properties[name] = value
	}
	return nil
}

// A tableWriter writes one table by Pebble's writer, with the options that
// lakeFS gives it.
type tableWriter struct {
	kind        string
	file        *memoryFile
	properties  *staticProperties
	writer      *sstable.Writer
	digest      *tableDigest
	first, last []byte
	count       int
}

func newTableWriter(kind string) *tableWriter {
	t := &tableWriter{
		kind:       kind,
		file:       &memoryFile{},
		properties: &staticProperties{map[string]string{}},
		digest:     newTableDigest(),
	}
	collector := func() sstable.TablePropertyCollector { return t.properties }
	t.writer = sstable.NewWriter(t.file, sstable.WriterOptions{
		Compression:             sstable.SnappyCompression,
		TablePropertyCollectors: []func() sstable.TablePropertyCollector{collector},
	})
	return t
}

func (t *tableWriter) add(r record) error {
	if err := t.writer.Set(r.key, r.value); err != nil {
		return err
	}
	t.digest.record(r.key, r.value)
	if t.count == 0 {
		t.first = r.key
	}
	t.last = r.key
	t.count++
	return nil
}

// table is what is known of a table that was written.
type table struct {
	id            string
	first, last   []byte
	count         int
	estimatedSize uint64
}

// finish writes the table into a folder, under its id.
func (t *tableWriter) finish(folder string) (table, error) {
	size := t.writer.EstimatedSize()
	t.properties.properties = map[string]string{
		"type":                 t.kind,
		"min_key":              string(t.first),
		"max_key":              string(t.last),
		"count":                strconv.Itoa(t.count),
		"estimated_size_bytes": strconv.FormatUint(size, 10),
	}
	if err := t.writer.Close(); err != nil {
		return table{}, err
	}
	id := t.digest.id(map[string]string{"type": t.kind})
	written := table{id, t.first, t.last, t.count, size}
	return written, os.WriteFile(filepath.Join(folder, id), t.file.Bytes(), 0o644)
}
