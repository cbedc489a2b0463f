package quicgo

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	outFlag        = flag.String("out", "", "folder that TestGenerate writes; without it the test is skipped")
	scenariosFlag  = flag.String("scenarios", "", "names with commas between them; none is all but clean_10k, clean_200k, clean_2m")
	scriptsFlag    = flag.String("scripts", "constant", "what the path does beside its rate and delay, with commas between them")
	seedsFlag      = flag.String("seeds", "1", "seeds and ranges: 1-20 or 3,5,8-9")
	variantsFlag   = flag.String("variants", "with,without", "with, without or both")
	jitterSeedFlag = flag.Int("jitter-seed", 0, "another number is other jitter on the same paths")
	noTagFlag      = flag.Bool("without-tag", false, "sizes of packets in the logs leave the 16 bytes of the tag out")
)

// TestGenerate is the generator. It is a test because virtual time needs one.
func TestGenerate(t *testing.T) {
	if *outFlag == "" {
		t.Skip("no -out")
	}
	order := Order{Folder: *outFlag, WithoutTag: *noTagFlag, JitterSeed: *jitterSeedFlag}
	var err error
	for _, name := range strings.Split(*scriptsFlag, ",") {
		script, err := scriptNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		order.Scripts = append(order.Scripts, script)
	}
	if order.Scenarios, err = chosen(*scenariosFlag); err != nil {
		t.Fatal(err)
	}
	if order.Seeds, err = seeds(*seedsFlag); err != nil {
		t.Fatal(err)
	}
	for _, variant := range strings.Split(*variantsFlag, ",") {
		if variant != "with" && variant != "without" {
			t.Fatalf("no variant %q", variant)
		}
		order.Variants = append(order.Variants, variant)
	}
	began := time.Now()
	runs, err := Generate(t, order)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d runs in %.1f s\n", runs, time.Since(began).Seconds())
}

func chosen(names string) ([]Scenario, error) {
	if names == "" {
		return Scenarios(), nil
	}
	var found []Scenario
	for _, name := range strings.Split(names, ",") {
		scenario, isKnown := scenarioNamed(name)
		if !isKnown {
			return nil, fmt.Errorf("no scenario %q", name)
		}
		found = append(found, scenario)
	}
	return found, nil
}

func scenarioNamed(name string) (Scenario, bool) {
	for _, scenario := range append(Scenarios(), CleanSizes()...) {
		if scenario.Name == name {
			return scenario, true
		}
	}
	return Scenario{}, false
}

func seeds(text string) ([]int, error) {
	var all []int
	for _, part := range strings.Split(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		if err != nil {
			return nil, fmt.Errorf("seeds %q: %w", part, err)
		}
		last, err := strconv.Atoi(high)
		if err != nil || last < first {
			return nil, fmt.Errorf("seeds %q are no range", part)
		}
		for seed := first; seed <= last; seed++ {
			all = append(all, seed)
		}
	}
	return all, nil
}
