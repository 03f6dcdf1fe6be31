package capability

import (
	"strconv"
	"strings"

	"bailing/shared/textlimit"
)

// Refusal codes: the part of a [Refusal] before the colon. The first twelve are core §5.5; the last three say that an
// argument has no form in its place of the request.
const (
	CodeUnknownArguments = "unknown_arguments"
	CodeMissingRequired  = "missing_required"
	CodeTooDeep          = "argument_too_deep"
	CodeType             = "argument_type"
	CodeEnum             = "argument_enum"
	CodeMinLength        = "argument_min_length"
	CodeMaxLength        = "argument_max_length"
	CodeMinimum          = "argument_minimum"
	CodeMaximum          = "argument_maximum"
	CodeArrayTooLarge    = "argument_array_too_large"
	CodeObjectTooLarge   = "argument_object_too_large"
	CodeUnknownArgument  = "unknown_argument"
	CodeReservedHeader   = "reserved_header"
	CodePathSegment      = "argument_path_segment"  // empty, or would make a dot segment
	CodeHeaderValue      = "argument_header_value"  // not printable ASCII
	CodeNotEncodable     = "argument_not_encodable" // an object outside the body, or a lone surrogate in the path
	CodeNotObject        = "tool_args_not_json_object"
	CodeInvalidSchema    = "invalid_input_schema" // the stored tool is broken; no call is safe
)

// Refusal is why a call is not dispatched. It names arguments and never quotes their values.
type Refusal struct {
	// Reason is the code, or the code, a colon and the place: `argument_type:order.lines[2].sku`. Models see it.
	Reason string
}

// Error is the reason.
func (r *Refusal) Error() string { return r.Reason }

// Code is the part of the reason before the colon.
func (r *Refusal) Code() string {
	code, _, _ := strings.Cut(r.Reason, ":")
	return code
}

// Bounds on what a caller-chosen name may add to a reason, in UTF-16 units, and on the names in a list.
const (
	maxReasonName  = 128
	maxReasonPlace = 512
	maxReasonNames = 8
)

func refuse(code, place string) *Refusal {
	return &Refusal{Reason: code + ":" + textlimit.Cut(place, maxReasonPlace)}
}

func refuseNames(code string, names []string) *Refusal {
	short := make([]string, 0, maxReasonNames)
	for _, n := range names[:min(len(names), maxReasonNames)] {
		short = append(short, textlimit.Cut(n, maxReasonName))
	}
	return &Refusal{Reason: code + ":" + strings.Join(short, ",")}
}

// place is a way down into the arguments; it becomes text only when something is refused.
type place []step

type step struct {
	key   string
	index int // of an element; -1 for the member called key
}

func (p place) String() string {
	var b strings.Builder
	for i, s := range p {
		if b.Len() > 4*maxReasonPlace {
			break
		}
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i > 0:
			b.WriteString("." + textlimit.Cut(s.key, maxReasonName))
		default:
			b.WriteString(textlimit.Cut(s.key, maxReasonName))
		}
	}
	return b.String()
}
