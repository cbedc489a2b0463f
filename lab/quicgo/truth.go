package quicgo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// controller is the only one that quic-go 0.65 has: its cubic sender is told to be Reno.
const controller = "reno"

// Truth is one line of truth.jsonl: what was injected into which stream of which log.
type Truth struct {
	Stack      string    `json:"stack"`
	Controller string    `json:"controller"`
	Script     Script    `json:"script"`
	Scenario   string    `json:"scenario"`
	Cause      string    `json:"cause"`
	Vantage    string    `json:"vantage"`
	Seed       int       `json:"seed"`
	Variant    string    `json:"variant"`             // with | without: in the latter the same run lacks the cause
	Condition  string    `json:"condition,omitempty"` // without-tag
	Log        string    `json:"log"`
	StreamID   int64     `json:"stream_id"`
	Path       PathFacts `json:"path"`
}

// PathFacts are what the path did from the moment at which the target was asked for: they say what was no cause.
type PathFacts struct {
	Lost   int64 `json:"lost"`    // datagrams, both ways, that no strike was meant for
	BusyUs int64 `json:"busy_us"` // the longest stretch in which the bottleneck to the client never stood still
	RTTUs  int64 `json:"rtt_us"`  // of an empty packet over empty queues
}

// Order is what to generate.
type Order struct {
	Folder     string
	Scripts    []Script
	Scenarios  []Scenario
	Seeds      []int
	Variants   []string
	WithoutTag bool
	JitterSeed int
}

// Generate runs all of an order and writes the folder: logs and, at its end, truth.jsonl. The first failure ends it.
func Generate(t *testing.T, order Order) (runs int, err error) {
	var truths []Truth
	for _, script := range order.Scripts {
		conditions := Conditions{Script: script, WithoutTag: order.WithoutTag, JitterSeed: order.JitterSeed}
		for _, scenario := range order.Scenarios {
			for _, seed := range order.Seeds {
				for _, variant := range order.Variants {
					if variant == "without" && scenario.HasNoWithout {
						continue
					}
					lines, err := generateOne(t, order.Folder, conditions, scenario, seed, variant)
					if err != nil {
						return runs, fmt.Errorf("%s, %s, seed %d, %s: %w", script, scenario.Name, seed, variant, err)
					}
					truths = append(truths, lines...)
					runs++
				}
			}
		}
	}
	return runs, writeTruths(filepath.Join(order.Folder, "truth.jsonl"), truths)
}

func generateOne(
	t *testing.T, folder string, conditions Conditions, scenario Scenario, seed int, variant string,
) ([]Truth, error) {
	plan := scenario.Plan(seed, variant == "with")
	place := fmt.Sprintf("%s/%s/%d-%s", conditions.Script, scenario.Name, seed, variant)
	result, err := Simulate(t, plan, conditions, filepath.Join(folder, filepath.FromSlash(place)))
	if err != nil {
		return nil, err
	}
	server := Truth{
		Stack: "quic-go", Controller: controller, Script: conditions.Script, Scenario: scenario.Name, Cause: scenario.Cause,
		Vantage: "server", Seed: seed, Variant: variant, Log: place + "/server.sqlog", StreamID: plan.TargetStreamID(),
		Path: result.Path,
	}
	if conditions.WithoutTag {
		server.Condition = "without-tag"
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
