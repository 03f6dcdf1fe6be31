package expr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bailing/shared/awslocal/dynamodb/attr"
)

// Limits of the DynamoDB developer guide, "Expression parameters".
const (
	maxExpressionBytes = 4096
	maxPlaceholder     = 255             // bytes of a #name or :value, sign included
	maxSubstitution    = 2 * 1024 * 1024 // bytes of all substitution names and values
	maxOperators       = 300
	maxInOperands      = 100
	maxPathDepth       = attr.MaxDepth
)

// Params are the placeholders of one request, with a note of which were used.
type Params struct {
	names      map[string]string
	values     map[string]attr.Value
	usedNames  map[string]bool
	usedValues map[string]bool
	parsed     bool
}

// NewParams checks ExpressionAttributeNames and ExpressionAttributeValues. A nil map is an absent member; an empty one
// is refused.
func NewParams(names map[string]string, values map[string]attr.Value) (*Params, error) {
	size := 0
	for _, k := range slices.Sorted(maps.Keys(names)) {
		if !placeholder(k, '#') {
			return nil, badPlaceholder("ExpressionAttributeNames", k)
		}
		if names[k] == "" || len(names[k]) > attr.MaxNameBytes {
			return nil, &Error{Reason: fmt.Sprintf("ExpressionAttributeNames contains invalid value: 1 to %d bytes are allowed; key: %s", attr.MaxNameBytes, k)}
		}
		size += len(k) + len(names[k])
	}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if !placeholder(k, ':') {
			return nil, badPlaceholder("ExpressionAttributeValues", k)
		}
		size += len(k) + values[k].Size()
	}
	switch {
	case names != nil && len(names) == 0:
		return nil, &Error{Reason: "ExpressionAttributeNames must not be empty"}
	case values != nil && len(values) == 0:
		return nil, &Error{Reason: "ExpressionAttributeValues must not be empty"}
	case size > maxSubstitution:
		return nil, &Error{Reason: fmt.Sprintf("ExpressionAttributeNames and ExpressionAttributeValues exceed %d bytes", maxSubstitution)}
	}
	return &Params{names, values, map[string]bool{}, map[string]bool{}, false}, nil
}

func placeholder(s string, sign byte) bool {
	return len(s) > 1 && len(s) <= maxPlaceholder && s[0] == sign && skip(s, 1, isWord) == len(s)
}

func badPlaceholder(member, key string) error {
	return &Error{Reason: fmt.Sprintf("%s contains invalid key: Syntax error; key: %q", member, key)}
}

// Finish is called after the last expression: it refuses placeholders that no expression used.
func (p *Params) Finish() error {
	if !p.parsed && (p.names != nil || p.values != nil) {
		member := "ExpressionAttributeNames"
		if p.names == nil {
			member = "ExpressionAttributeValues"
		}
		return &Error{Reason: member + " can only be specified when using expressions"}
	}
	if err := unused("ExpressionAttributeNames", p.names, p.usedNames); err != nil {
		return err
	}
	return unused("ExpressionAttributeValues", p.values, p.usedValues)
}

func unused[V any](member string, given map[string]V, used map[string]bool) error {
	var rest []string
	for k := range given {
		if !used[k] {
			rest = append(rest, k)
		}
	}
	if rest == nil {
		return nil
	}
	slices.Sort(rest)
	return &Error{Reason: fmt.Sprintf("Value provided in %s unused in expressions: keys: {%s}", member, strings.Join(rest, ", "))}
}
