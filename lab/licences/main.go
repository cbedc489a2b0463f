// Says which licences the texts in folders are. A folder a line on standard input; a JSON object on standard output
// that has, by folder, the SPDX ids found in its licence files, or an empty list where none was recognised.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/google/licensecheck"
)

// A file counts as recognised when at least this share of its words is a licence's.
const recognisedPercent = 75

var licenceFile = regexp.MustCompile(`(?i)^(LICEN[SC]E|COPYING)([-_][^.]*)?(\.md|\.txt)?$`)

func main() {
	found := map[string][]string{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		ids, err := licences(lines.Text())
		if err != nil {
			log.Fatal(err)
		}
		found[lines.Text()] = ids
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}

func licences(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		seen := licensecheck.Scan(text)
		if seen.Percent < recognisedPercent {
			ids = append(ids, "NOASSERTION")
			continue
		}
		for _, match := range seen.Match {
			ids = append(ids, match.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
