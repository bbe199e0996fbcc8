package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/cockroachdb/pebble/sstable"
)

// check opens a table with Pebble's reader, validates every block, reads every
// record, looks some of them up, and returns the id computed from them.
func check(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	reader, err := sstable.NewReader(file, sstable.ReaderOptions{})
	if err != nil {
		return "", err
	}
	defer reader.Close()
	if err := reader.ValidateBlockChecksums(); err != nil {
		return "", err
	}
	id, count, err := walk(reader)
	if err != nil {
		return "", err
	}
	declared := reader.Properties.UserProperties["count"]
	if declared != strconv.Itoa(count) || reader.Properties.NumEntries != uint64(count) {
		return "", fmt.Errorf("%d records, but the properties say %s and %d",
			count, declared, reader.Properties.NumEntries)
	}
	return id, nil
}

func walk(reader *sstable.Reader) (string, int, error) {
	all, err := reader.NewIter(nil, nil)
	if err != nil {
		return "", 0, err
	}
	defer all.Close()
	lookUps, err := reader.NewIter(nil, nil)
	if err != nil {
		return "", 0, err
	}
	defer lookUps.Close()
	digest := newTableDigest()
	count := 0
	for key, value := all.First(); key != nil; key, value = all.Next() {
		if count%97 == 0 {
			found, _ := lookUps.SeekGE(key.UserKey, 0)
			if found == nil || string(found.UserKey) != string(key.UserKey) {
				return "", 0, fmt.Errorf("%q is not found", key.UserKey)
			}
		}
		raw, _, err := value.Value(nil)
		if err != nil {
			return "", 0, err
		}
		digest.record(key.UserKey, raw)
		count++
	}
	kind := reader.Properties.UserProperties["type"]
	return digest.id(map[string]string{"type": kind}), count, all.Error()
}
