package sfn

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// machine is a state machine. Its revisions are what it was defined as, one after the other.
type machine struct {
	name      string
	role      string
	created   time.Time
	revisions []*revision // the last one is in force; earlier ones are nil when no execution needs them any more
}

type revision struct {
	number int // from 0
	text   string
	def    *definition
}

func (m *machine) arn() string { return machineARN(m.name) }

func (m *machine) current() *revision { return m.revisions[len(m.revisions)-1] }

const machineType = "STANDARD"

func machineARN(name string) string {
	return fmt.Sprintf("arn:aws:states:%s:%s:stateMachine:%s", region, account, name)
}

// names of machines and executions: what AWS takes, and logs well.
var names = regexp.MustCompile(`^[0-9A-Za-z_-]{1,80}$`)

// machine finds a machine by its ARN.
func (s *Service) machine(arn string) (*machine, error) {
	name, ok := strings.CutPrefix(arn, machineARN(""))
	if !ok || !names.MatchString(name) {
		return nil, errARN(arn)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.machines[name]; ok {
		return m, nil
	}
	return nil, errNoMachine(arn)
}

func (s *Service) createMachine(r *request) (any, error) {
	var in struct {
		Name       string `json:"name"`
		Definition string `json:"definition"`
		RoleARN    string `json:"roleArn"`
		Type       string `json:"type"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	switch {
	case !names.MatchString(in.Name):
		return nil, refused("InvalidName", "Invalid Name: '%s'", in.Name)
	case !strings.HasPrefix(in.RoleARN, "arn:aws:iam::"):
		return nil, errARN(in.RoleARN)
	case in.Type != "" && in.Type != machineType:
		return nil, refused("StateMachineTypeNotSupported", "A machine of type %s is not implemented by this stand-in.", in.Type)
	}
	def, err := parse(in.Definition)
	if err != nil {
		return nil, err
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	m, exists := s.machines[in.Name]
	s.mu.Unlock()
	if exists && m.current().text != in.Definition {
		return nil, refused("StateMachineAlreadyExists", "State Machine Already Exists: '%s'", m.arn())
	}
	if !exists {
		m = &machine{name: in.Name, role: in.RoleARN, created: s.clock.Now(), revisions: []*revision{{text: in.Definition, def: def}}}
		if err := s.define(m); err != nil {
			return nil, err
		}
	}
	return struct {
		ARN     string `json:"stateMachineArn"`
		Created epoch  `json:"creationDate"`
	}{m.arn(), epoch(m.created)}, nil
}

func (s *Service) updateMachine(r *request) (any, error) {
	var in struct {
		ARN        string `json:"stateMachineArn"`
		Definition string `json:"definition"`
		RoleARN    string `json:"roleArn"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	m, err := s.machine(in.ARN)
	if err != nil {
		return nil, err
	}
	if in.Definition == "" && in.RoleARN == "" {
		return nil, refused("MissingRequiredParameter", "Either the definition, the role ARN, or both must be specified")
	}
	var def *definition
	if in.Definition != "" {
		if def, err = parse(in.Definition); err != nil {
			return nil, err
		}
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	// A machine that is in use is replaced, never changed: executions hold on to their own revision.
	s.mu.Lock()
	m = s.machines[m.name]
	next := *m
	s.mu.Unlock()
	if in.RoleARN != "" {
		next.role = in.RoleARN
	}
	if def != nil && in.Definition != m.current().text {
		next.revisions = append(append([]*revision(nil), m.revisions...), &revision{number: len(m.revisions), text: in.Definition, def: def})
	}
	if err := s.define(&next); err != nil {
		return nil, err
	}
	return struct {
		Updated epoch `json:"updateDate"`
	}{epoch(s.clock.Now())}, nil
}

// define writes the machine as it is now. The caller holds the gate exclusively.
func (s *Service) define(m *machine) error {
	if err := s.log.Append(s.machineRecord(m, m.current()).encode()); err != nil {
		return fmt.Errorf("sfn: journal: %w", err)
	}
	s.mu.Lock()
	s.machines[m.name] = m
	s.mu.Unlock()
	return nil
}

func (s *Service) describeMachine(r *request) (any, error) {
	var in struct {
		ARN string `json:"stateMachineArn"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	m, err := s.machine(in.ARN)
	if err != nil {
		return nil, err
	}
	return struct {
		ARN        string `json:"stateMachineArn"`
		Name       string `json:"name"`
		Status     string `json:"status"`
		Definition string `json:"definition"`
		RoleARN    string `json:"roleArn"`
		Type       string `json:"type"`
		Created    epoch  `json:"creationDate"`
	}{m.arn(), m.name, "ACTIVE", m.current().text, m.role, machineType, epoch(m.created)}, nil
}

// epoch is a moment on the wire: seconds since 1970, to the millisecond.
type epoch time.Time

// MarshalJSON writes the seconds.
func (e epoch) MarshalJSON() ([]byte, error) {
	millis := time.Time(e).UnixMilli()
	return fmt.Appendf(nil, "%d.%03d", millis/1000, millis%1000), nil
}
