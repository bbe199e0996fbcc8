// Command glob matches texts with gobwas/glob, in the version that lakeFS 1.84
// uses, so that ours can be compared with it.
//
// Each line on standard input is a JSON array: a pattern, then texts. Each line
// on standard output is "error", "panic", or a 1 for each text that matches and a
// 0 for each other.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/gobwas/glob"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var words []string
		if err := json.Unmarshal(lines.Bytes(), &words); err != nil {
			fmt.Fprintln(os.Stderr, "glob:", err)
			os.Exit(1)
		}
		fmt.Println(matches(words[0], words[1:]))
	}
}

func matches(pattern string, texts []string) (told string) {
	defer func() {
		if recover() != nil {
			told = "panic"
		}
	}()
	compiled, err := glob.Compile(pattern)
	if err != nil {
		return "error"
	}
	result := make([]byte, len(texts))
	for i, text := range texts {
		result[i] = '0'
		if compiled.Match(text) {
			result[i] = '1'
		}
	}
	return string(result)
}
