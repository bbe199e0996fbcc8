// Command pebble writes and reads tables with Pebble, in the version that
// lakeFS 1.84 uses, so that ours can be compared with them.
//
//	pebble ranges FOLDER       records → ranges and their metarange
//	pebble table KIND FOLDER   records → one table
//	pebble check FILE...       reads tables and prints their ids
//
// Records come on standard input. Each table written is a line: its kind, id,
// first and last key in hexadecimal, number of records and estimated size.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pebble:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 2 && arguments[0] == "ranges":
		return ranges(arguments[1])
	case len(arguments) == 3 && arguments[0] == "table":
		written, err := writeOne(newRecordReader(os.Stdin), arguments[1], arguments[2])
		if err != nil {
			return err
		}
		show(arguments[1], written)
		return nil
	case len(arguments) > 1 && arguments[0] == "check":
		return checkAll(arguments[1:])
	}
	return errors.New("usage: pebble ranges FOLDER | table KIND FOLDER | check FILE...")
}

func ranges(folder string) error {
	written, err := writeRanges(newRecordReader(os.Stdin), folder)
	if err != nil {
		return err
	}
	for _, r := range written {
		show("ranges", r)
	}
	metarange, err := writeMetarange(written, folder)
	if err != nil {
		return err
	}
	show("metaranges", metarange)
	return nil
}

func checkAll(paths []string) error {
	for _, path := range paths {
		id, err := check(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Println(id)
	}
	return nil
}

func show(kind string, t table) {
	fmt.Printf("%s %s %x %x %d %d\n", kind, t.id, t.first, t.last, t.count, t.estimatedSize)
}
