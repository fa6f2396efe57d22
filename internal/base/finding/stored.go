package finding

import "encoding/json"

// renamed are the codes of marks and layouts in run directories that were written before November 2026, with what
// they are now. Their parameters have the same names.
var renamed = map[Code]Code{
	"layout-blocks":          "layout-changed blocks",
	"layout-shorter":         "layout-changed shorter",
	"layout-longer":          "layout-changed longer",
	"layout-phases":          "layout-left-out phases",
	"layout-cells":           "layout-left-out cells",
	"class-changed":          "durability-not-shown class-changed",
	"class-refuted":          "durability-not-shown class-refuted",
	"clock-began-early":      "machine-disturbed clock-began-early",
	"clock-began-late":       "machine-disturbed clock-began-late",
	"clock-drift":            "machine-disturbed clock-drift",
	"clock-ended-early":      "machine-disturbed clock-ended-early",
	"clock-ended-late":       "machine-disturbed clock-ended-late",
	"count-acknowledged":     "counts-disagree acknowledged",
	"count-begun":            "counts-disagree begun",
	"count-bytes":            "counts-disagree bytes",
	"count-bytes-read":       "counts-disagree bytes-read",
	"count-items":            "counts-disagree items",
	"count-more":             "counts-disagree more",
	"count-order":            "counts-disagree order",
	"count-outcomes":         "counts-disagree outcomes",
	"count-sum":              "counts-disagree sum",
	"count-timed":            "counts-disagree timed",
	"cpu-foreign":            "machine-disturbed cpu-processes",
	"cpu-heat":               "machine-disturbed throttled-heat",
	"cpu-quota":              "machine-disturbed throttled-quota",
	"cpu-steal":              "machine-disturbed cpu-hypervisor",
	"data-gone":              "data-vanished directory",
	"ended-before-time":      "stopped-early time",
	"ended-before-work":      "stopped-early work",
	"file-damaged":           "damaged file",
	"history-ghosts":         "wrong-values history",
	"history-lost":           "lost-updates history",
	"history-stale":          "stale-values history",
	"history-swaps-gone":     "lost-updates overwritten",
	"history-unordered":      "not-linearizable history",
	"history-vanished":       "lost-values history",
	"increments-lost":        "wrong-counters lost",
	"increments-more":        "wrong-counters more",
	"latency-below-floor":    "counts-disagree latency-below-floor",
	"latency-over-max":       "counts-disagree latency-over-max",
	"latency-over-phase":     "counts-disagree latency-over-phase",
	"operations-failed":      "errors operations",
	"operations-lost":        "lost-values operations",
	"operations-other-trial": "values-of-another-trial operations",
	"operations-unfinished":  "unfinished operations",
	"operations-wrong":       "wrong-values operations",
	"phase-not-begun":        "disk-full not-begun",
	"processes-began-apart":  "machine-disturbed starts-apart",
	"quota-mount-full":       "disk-full quota",
	"readback-failed":        "errors readback",
	"readback-lost":          "lost-values readback",
	"readback-other-trial":   "values-of-another-trial readback",
	"readback-stale":         "stale-values readback",
	"readback-wrong":         "wrong-values readback",
	"response-too-short":     "counts-disagree response-too-short",
	"run-disk-full":          "disk-full run",
	"server-syncs-too-few":   "durability-not-shown server-syncs-too-few",
	"stopped-debugger":       "machine-disturbed stopped-debugger",
	"stopped-frozen":         "machine-disturbed stopped-frozen",
	"stopped-gap":            "machine-disturbed stopped-gap",
	"stopped-signal":         "machine-disturbed stopped-signal",
	"stopped-suspend":        "machine-disturbed stopped-suspend",
	"store-disk-full":        "disk-full data",
	"syncs-too-fast":         "durability-not-shown syncs-too-fast",
	"syncs-too-few":          "durability-not-shown syncs-too-few",
	"time-over":              "counts-disagree time-over",
	"time-under":             "counts-disagree time-under",
}

// split returns the message as JSON has it: the kind stands among the parameters.
func (m Message) split() Message {
	code, kind, has := m.Code.cut()
	if !has {
		return m
	}
	params := Params{"kind": kind}
	for name, value := range m.Params {
		params[name] = value
	}
	return Message{code, params}
}

// join undoes split, and gives codes of older versions their present names.
func (m *Message) join() {
	if now, old := renamed[m.Code]; old {
		m.Code = now
		return
	}
	kind, _ := m.Params["kind"].(string)
	if joined := m.Code + " " + Code(kind); kind != "" && known(joined) {
		m.Code = joined
		delete(m.Params, "kind")
	}
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Message) UnmarshalJSON(text []byte) error {
	type plain Message
	if err := json.Unmarshal(text, (*plain)(m)); err != nil {
		return err
	}
	m.join()
	return nil
}

// UnmarshalJSON keeps the embedded message from reading the mark as a message.
func (m *Mark) UnmarshalJSON(text []byte) error {
	of := struct {
		Phase *string `json:"phase"`
	}{&m.Phase}
	if err := json.Unmarshal(text, &of); err != nil {
		return err
	}
	return json.Unmarshal(text, &m.Message)
}

// UnmarshalJSON keeps the embedded message from reading the finding as a message.
func (f *Finding) UnmarshalJSON(text []byte) error {
	of := struct {
		Severity *Severity   `json:"severity"`
		Where    *Where      `json:"where"`
		Cause    *Code       `json:"cause"`
		Evidence *[]Evidence `json:"evidence"`
		More     *int        `json:"evidence_more"`
	}{&f.Severity, &f.Where, &f.Cause, &f.Evidence, &f.More}
	if err := json.Unmarshal(text, &of); err != nil {
		return err
	}
	return json.Unmarshal(text, &f.Message)
}

// UnmarshalJSON keeps the embedded message from reading the evidence as a message.
func (e *Evidence) UnmarshalJSON(text []byte) error {
	of := struct {
		Trial *string `json:"trial"`
	}{&e.Trial}
	if err := json.Unmarshal(text, &of); err != nil {
		return err
	}
	return json.Unmarshal(text, &e.Message)
}
