package quicgo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Truth is one line of truth.jsonl: what was injected into which stream of which log.
type Truth struct {
	Stack    string `json:"stack"`
	Scenario string `json:"scenario"`
	Cause    string `json:"cause"`
	Vantage  string `json:"vantage"`
	Seed     int    `json:"seed"`
	Variant  string `json:"variant"` // with | without: in the latter the same run lacks the cause
	Log      string `json:"log"`
	StreamID int64  `json:"stream_id"`
}

// Order is what to generate.
type Order struct {
	Folder    string
	Scenarios []Scenario
	Seeds     []int
	Variants  []string
}

// Generate runs all of an order and writes the folder: logs and, at its end, truth.jsonl. The first failure ends it.
func Generate(t *testing.T, order Order) (runs int, err error) {
	var truths []Truth
	for _, scenario := range order.Scenarios {
		for _, seed := range order.Seeds {
			for _, variant := range order.Variants {
				if variant == "without" && scenario.HasNoWithout {
					continue
				}
				lines, err := generateOne(t, order.Folder, scenario, seed, variant)
				if err != nil {
					return runs, fmt.Errorf("%s, seed %d, %s: %w", scenario.Name, seed, variant, err)
				}
				truths = append(truths, lines...)
				runs++
			}
		}
	}
	return runs, writeTruths(filepath.Join(order.Folder, "truth.jsonl"), truths)
}

func generateOne(t *testing.T, folder string, scenario Scenario, seed int, variant string) ([]Truth, error) {
	plan := scenario.Plan(seed, variant == "with")
	place := fmt.Sprintf("%s/%d-%s", scenario.Name, seed, variant)
	if _, err := Simulate(t, plan, filepath.Join(folder, filepath.FromSlash(place))); err != nil {
		return nil, err
	}
	server := Truth{
		Stack: "quic-go", Scenario: scenario.Name, Cause: scenario.Cause, Vantage: "server", Seed: seed, Variant: variant,
		Log: place + "/server.sqlog", StreamID: plan.TargetStreamID(),
	}
	if scenario.ClientCause == "" {
		return []Truth{server}, nil
	}
	client := server
	client.Cause, client.Vantage, client.Log = scenario.ClientCause, "client", place+"/client.sqlog"
	return []Truth{server, client}, nil
}

func writeTruths(path string, truths []Truth) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	for _, truth := range truths {
		if err := encoder.Encode(truth); err != nil {
			file.Close()
			return err
		}
	}
	return file.Close()
}
