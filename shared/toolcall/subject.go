package toolcall

import (
	"errors"
	"strings"
	"unicode/utf8"

	"bailing/shared/canonical"
	"bailing/shared/job"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// ErrSubject says that a job names a subject that no header can carry. A call for nobody in its place could have more rights
// than the call that was meant, so there is none.
var ErrSubject = errors.New("toolcall: subject cannot be sent")

// subjectMax is the longest subject, in UTF-16 units: what a session key may have.
const subjectMax = 191

// SubjectOf is on whose behalf a call is made, "" for nobody (core §5.4): the first of the source's subject field, the visitor
// of a chat job and the user of an inbound channel. It comes from the job's metadata, never from the model. The last two
// are set by the hub itself, so they count only in jobs that no client submitted.
func SubjectOf(j *job.Job, source registry.ToolSource) (string, error) {
	metadata, err := canonical.Parse(j.Metadata, canonical.Limits{})
	if err != nil {
		return "", ErrSubject
	}
	var subject string
	switch {
	case source.SubjectField != "" && subjectText(metadata, source.SubjectField) != "":
		subject = subjectText(metadata, source.SubjectField)
	case j.Owner == "" && strings.HasPrefix(j.Source, "chat:"):
		subject = subjectText(metadata, "visitor_uid")
	case j.Owner == "" && strings.HasPrefix(j.Source, "wecom:"):
		if user := subjectText(metadata, "wecom_userid"); user != "" {
			subject = "wecom:" + user
		}
	}
	if !textlimit.Fits(subject, subjectMax) || !utf8.ValidString(subject) {
		return "", ErrSubject
	}
	for i := range len(subject) {
		if subject[i] < ' ' || subject[i] == 0x7f {
			return "", ErrSubject
		}
	}
	return subject, nil
}

func subjectText(metadata canonical.Value, field string) string {
	v, ok := metadata.Get(field)
	if !ok {
		return ""
	}
	switch v.Kind() {
	case canonical.String:
		return textlimit.Trim(v.Text())
	case canonical.Number:
		return v.Number()
	}
	return ""
}
