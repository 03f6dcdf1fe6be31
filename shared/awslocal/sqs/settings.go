package sqs

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Names of queue attributes.
const (
	attrVisibility = "VisibilityTimeout"
	attrDelay      = "DelaySeconds"
	attrMaxSize    = "MaximumMessageSize"
	attrRetention  = "MessageRetentionPeriod"
	attrWait       = "ReceiveMessageWaitTimeSeconds"
	attrRedrive    = "RedrivePolicy"
)

// Limits in seconds and bytes.
const (
	maxVisibilitySeconds = 43200
	maxDelaySeconds      = 900
	maxWaitSeconds       = 20
	minMessageSize       = 1024
	maxMessageSize       = 1 << 20
	minRetentionSeconds  = 60
	maxRetentionSeconds  = 14 * 24 * 3600
	maxRedriveReceives   = 1000
)

// settings are the attributes of a queue that can be set.
type settings struct {
	VisibilitySeconds int
	DelaySeconds      int
	MaxMessageSize    int // bytes
	RetentionSeconds  int
	WaitSeconds       int
	Redrive           *redrivePolicy
}

func (s settings) retention() time.Duration { return time.Duration(s.RetentionSeconds) * time.Second }

func defaultSettings() settings {
	return settings{VisibilitySeconds: 30, MaxMessageSize: maxMessageSize, RetentionSeconds: 4 * 24 * 3600}
}

// number returns the setting of a numeric attribute with its bounds; ok is false for any other name.
func (s *settings) number(name string) (value *int, low, high int, ok bool) {
	switch name {
	case attrVisibility:
		return &s.VisibilitySeconds, 0, maxVisibilitySeconds, true
	case attrDelay:
		return &s.DelaySeconds, 0, maxDelaySeconds, true
	case attrMaxSize:
		return &s.MaxMessageSize, minMessageSize, maxMessageSize, true
	case attrRetention:
		return &s.RetentionSeconds, minRetentionSeconds, maxRetentionSeconds, true
	case attrWait:
		return &s.WaitSeconds, 0, maxWaitSeconds, true
	}
	return nil, 0, 0, false
}

// set applies one attribute as a client writes it. target tells whether a dead-letter target exists.
func (s *settings) set(name, value string, target func(arn string) bool) error {
	if v, low, high, ok := s.number(name); ok {
		n, err := strconv.Atoi(value)
		if err != nil || n < low || n > high {
			return modelled("InvalidAttributeValue", false, "Invalid value for the parameter %s.", name)
		}
		*v = n
		return nil
	}
	switch name {
	case attrRedrive:
		if value == "" {
			s.Redrive = nil
			return nil
		}
		p, err := parseRedrive(value)
		if err != nil {
			return errParameter("Value %s for parameter RedrivePolicy is invalid. Reason: %v.", value, err)
		}
		if !target(p.Target) {
			return errParameter("Value %s for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.", value)
		}
		s.Redrive = p
		return nil
	case "FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit", "Policy", "RedriveAllowPolicy",
		"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled":
		return errUnsupported("The queue attribute " + name)
	}
	return modelled("InvalidAttributeName", false, "Unknown Attribute %s.", name)
}

// get returns the attribute as a client reads it; ok is false when it is not set.
func (s *settings) get(name string) (string, bool) {
	if v, _, _, ok := s.number(name); ok {
		return strconv.Itoa(*v), true
	}
	if name == attrRedrive && s.Redrive != nil {
		return s.Redrive.String(), true
	}
	return "", false
}

// redrivePolicy says where a message goes that has been received too often.
type redrivePolicy struct {
	Target      string // ARN
	MaxReceives int    // 1 to 1000
}

func (p redrivePolicy) String() string {
	b, err := json.Marshal(struct {
		Target string `json:"deadLetterTargetArn"`
		Max    int    `json:"maxReceiveCount"`
	}{p.Target, p.MaxReceives})
	if err != nil {
		panic(err) // a string and a number
	}
	return string(b)
}

// parseRedrive reads the JSON of a policy. maxReceiveCount may be a number or a string of one.
func parseRedrive(text string) (*redrivePolicy, error) {
	var in struct {
		Target *string          `json:"deadLetterTargetArn"`
		Max    *json.RawMessage `json:"maxReceiveCount"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || d.More() {
		return nil, errors.New("redrive policy is not a valid JSON map")
	}
	if in.Target == nil {
		return nil, errors.New("redrive policy does not contain mandatory attribute: deadLetterTargetArn")
	}
	if in.Max == nil {
		return nil, errors.New("redrive policy does not contain mandatory attribute: maxReceiveCount")
	}
	digits := string(*in.Max)
	if strings.HasPrefix(digits, `"`) {
		if err := json.Unmarshal(*in.Max, &digits); err != nil {
			return nil, errors.New("invalid value for maxReceiveCount")
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > maxRedriveReceives {
		return nil, errors.New("invalid value for maxReceiveCount: must be an integer from 1 to 1000")
	}
	return &redrivePolicy{Target: *in.Target, MaxReceives: n}, nil
}
