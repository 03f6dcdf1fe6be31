package sfn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Kinds of records.
const (
	recMachine   = "machine"   // one revision of a machine, with the key of the tokens
	recExecution = "execution" // an execution as it is then, so that applying it twice is harmless
	recCounters  = "counters"  // where numbering goes on; begins every snapshot
)

// record is one entry of the journal.
type record struct {
	Kind     string    `json:"kind"`
	Machine  string    `json:"machine,omitempty"`
	Revision int       `json:"revision,omitempty"`
	Role     string    `json:"role,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Text     string    `json:"text,omitempty"` // definition
	Key      []byte    `json:"key,omitempty"`

	Seq      uint64    `json:"seq,omitempty"`
	Name     string    `json:"name,omitempty"`
	Input    string    `json:"input,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Progress *progress `json:"progress,omitempty"`
}

func (r record) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("sfn: a record cannot be encoded: %v", err)) // plain data
	}
	return b
}

func (s *Service) machineRecord(m *machine, r *revision) record {
	return record{Kind: recMachine, Machine: m.name, Revision: r.number, Role: m.role, Created: m.created, Text: r.text, Key: s.key}
}

func executionRecord(x *execution, p progress) record {
	return record{Kind: recExecution, Machine: x.machine, Revision: x.revision.number, Seq: x.seq, Name: x.name, Input: x.input,
		Started: x.started, Progress: &p}
}

// Replay applies one record of the journal. Records come in the order in which they were appended, before the service serves or
// starts. A record of which the state has the effect already is harmless when all later records follow.
func (s *Service) Replay(rec []byte) error {
	var r record
	if err := json.Unmarshal(rec, &r); err != nil {
		return fmt.Errorf("sfn: decode record: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextSeq = max(s.nextSeq, r.Seq+1)
	switch r.Kind {
	case recCounters:
		s.nextSeq = max(s.nextSeq, r.Seq)
		return nil
	case recMachine:
		return s.replayMachine(r)
	case recExecution:
		return s.replayExecution(r)
	}
	return fmt.Errorf("sfn: a record of unknown kind %q", r.Kind)
}

func (s *Service) replayMachine(r record) error {
	def, err := parse(r.Text)
	if err != nil {
		return fmt.Errorf("sfn: the definition of machine %s: %w", r.Machine, err)
	}
	m, ok := s.machines[r.Machine]
	if !ok {
		m = &machine{name: r.Machine, created: r.Created}
		s.machines[m.name] = m
	}
	m.role = r.Role
	for len(m.revisions) <= r.Revision {
		m.revisions = append(m.revisions, nil)
	}
	if m.revisions[r.Revision] == nil {
		m.revisions[r.Revision] = &revision{number: r.Revision, text: r.Text, def: def}
	}
	s.key = r.Key
	return nil
}

func (s *Service) replayExecution(r record) error {
	m, ok := s.machines[r.Machine]
	if !ok || r.Revision >= len(m.revisions) || m.revisions[r.Revision] == nil || r.Progress == nil {
		return fmt.Errorf("sfn: execution %s is of an unknown revision of machine %s", r.Name, r.Machine)
	}
	x, ok := s.executions[r.Seq]
	if !ok {
		x = &execution{seq: r.Seq, name: r.Name, machine: r.Machine, revision: m.revisions[r.Revision], input: r.Input, started: r.Started, index: -1}
		s.executions[x.seq] = x
	}
	key := executionName{x.machine, x.name}
	if other, ok := s.byName[key]; !ok || other.seq < x.seq {
		s.byName[key] = x
	}
	if x.Status != "" && x.Status != running && r.Progress.Status == running {
		return nil // the state has its end already, which comes again
	}
	s.set(x, *r.Progress)
	return nil
}

// Snapshot emits records that rebuild the service as it is. It contains every record whose append had been called before. Requests
// wait only while the state is noted, not while it is emitted.
func (s *Service) Snapshot(emit func(rec []byte) error) error {
	for _, r := range s.freeze() {
		if err := emit(r.encode()); err != nil {
			return err
		}
	}
	return nil
}

// freeze notes the state while nobody is between an append and its effect. Of a machine it keeps the revision in force and those
// that executions have; of the ended executions those that are remembered, in the order of their ends.
func (s *Service) freeze() []record {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	used := map[*revision]bool{}
	var executions []record
	note := func(x *execution) {
		used[x.revision] = true
		executions = append(executions, executionRecord(x, x.progress))
	}
	for _, x := range s.ended {
		note(x)
	}
	for _, seq := range slices.Sorted(maps.Keys(s.executions)) {
		if x := s.executions[seq]; x.Status == running {
			note(x)
		}
	}
	records := []record{{Kind: recCounters, Seq: s.nextSeq}}
	for _, name := range slices.Sorted(maps.Keys(s.machines)) {
		m := s.machines[name]
		for _, r := range m.revisions {
			if r != nil && (used[r] || r == m.current()) {
				records = append(records, s.machineRecord(m, r))
			}
		}
	}
	return append(records, executions...)
}
