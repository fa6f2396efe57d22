package main

import (
	"encoding/json"
	"fmt"
	"io"

	"assay/internal/evidence/host"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// formsVersion is of the JSON forms below; it grows when a field changes its meaning or goes.
const formsVersion = 1

// listed is what assay list --json prints.
type listed struct {
	Version int            `json:"version"`
	Presets []listedPreset `json:"presets"`
	Drivers []listedDriver `json:"drivers"`
}

type listedPreset struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

type listedDriver struct {
	Name  string `json:"name"`
	Built bool   `json:"built" jsonschema_description:"false: a native driver that make native has not built here"`
}

// planned is what assay run --dry-run --json prints.
type planned struct {
	Version    int                    `json:"version"`
	Settings   []setting              `json:"settings" jsonschema_description:"what took effect of the matrix's parameters and of the keys"`
	Phases     []plannedPhase         `json:"phases"`
	Trials     []plannedTrial         `json:"trials"`
	Estimate   plannedNeed            `json:"estimate"`
	Notes      []string               `json:"notes,omitempty"`
	Warnings   []string               `json:"warnings,omitempty"`
	Experiment *experiment.Experiment `json:"experiment" jsonschema_description:"every default written out, as in experiment.json of a run directory"`
}

// setting is a parameter and its values, one for each cell that has another.
type setting struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

type plannedPhase struct {
	Name        string             `json:"name"`
	Load        bool               `json:"load,omitempty"`
	Mix         map[string]float64 `json:"mix,omitempty" jsonschema_description:"operation to weight"`
	Order       string             `json:"order"`
	Threads     []int              `json:"threads" jsonschema_description:"one for each cell"`
	Batch       int                `json:"batch,omitempty"`
	MultiRead   int                `json:"multi_read,omitempty" jsonschema_description:"keys that one call reads"`
	Rate        float64            `json:"rate,omitempty" jsonschema_description:"operations a second of open load; absent: closed load"`
	Arrivals    trace.Arrivals     `json:"arrivals,omitempty"`
	Seconds     float64            `json:"seconds,omitempty"`
	Operations  uint64             `json:"operations,omitempty"`
	FromSeconds float64            `json:"from_s,omitempty" jsonschema_description:"of a group: when it begins"`
	Unmeasured  bool               `json:"unmeasured,omitempty"`
	Optional    bool               `json:"optional,omitempty"`
}

type plannedTrial struct {
	ID         string `json:"id"`
	Block      int    `json:"block"`
	Arm        string `json:"arm"`
	Role       string `json:"role"`
	Parameters string `json:"parameters"`
	Refused    string `json:"refused,omitempty" jsonschema_description:"why the store can't do it"`
}

type plannedNeed struct {
	Trials      int     `json:"trials" jsonschema_description:"that are run"`
	Refused     int     `json:"refused"`
	Blocks      int     `json:"blocks"`
	BlocksMax   int     `json:"blocks_max,omitempty"`
	SecondsLow  float64 `json:"seconds_low" jsonschema_description:"without loads"`
	SecondsHigh float64 `json:"seconds_high" jsonschema_description:"without loads"`
	LoadSeconds float64 `json:"load_seconds" jsonschema_description:"a guess"`
	LoadRecords uint64  `json:"load_records"`
	LoadBytes   uint64  `json:"load_bytes"`
	DataBytes   uint64  `json:"data_bytes" jsonschema_description:"the most that one trial holds at once"`
	DiskBytes   uint64  `json:"disk_bytes" jsonschema_description:"with what stores preallocate, as far as they say it"`
}

// diagnosed is what assay doctor --json prints.
type diagnosed struct {
	Version     int               `json:"version"`
	Environment host.Environment  `json:"environment" jsonschema_description:"as in environment.json of a run directory"`
	Clock       string            `json:"clock"`
	OthersShare *float64          `json:"others_cpu_share" jsonschema_description:"of the CPU time, that other processes use now; null: not measured"`
	Abilities   []diagnosedAble   `json:"abilities"`
	Servers     []diagnosedServer `json:"servers"`
	Problems    []ailment         `json:"problems" jsonschema_description:"what would disturb a measurement"`
	Unknown     []string          `json:"unknown"`
	NotMeasured map[string]string `json:"not_measured" jsonschema_description:"series to why"`
}

type diagnosedAble struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Lacks  string `json:"lacks,omitempty" jsonschema_description:"what can't be done; absent: all works"`
	Remedy string `json:"remedy,omitempty"`
}

type diagnosedServer struct {
	Driver  string `json:"driver"`
	Starts  bool   `json:"starts" jsonschema_description:"Assay can start it"`
	Product string `json:"product,omitempty" jsonschema_description:"what the binary reports to be, such as valkey for the driver redis"`
	Version string `json:"version,omitempty"`
	Where   string `json:"where" jsonschema_description:"its binary, or how it is installed"`
}

// writeForm prints one of the forms above.
func writeForm(w io.Writer, form any) error {
	text, err := json.MarshalIndent(form, "", "  ")
	if err != nil {
		return fmt.Errorf("write the answer as JSON: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
