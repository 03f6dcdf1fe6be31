package sqs

import (
	"errors"
	"strings"
)

// maxBatch is the limit on entries of a batch, and on messages of one receive.
const maxBatch = 10

// checkBatch refuses a batch whose entries cannot be told apart; id returns the Id of an entry.
func checkBatch[E any](entries []E, id func(E) string) error {
	switch {
	case len(entries) == 0:
		return modelled("EmptyBatchRequest", true, "There should be at least one entry in the request.")
	case len(entries) > maxBatch:
		return modelled("TooManyEntriesInBatchRequest", true, "Maximum number of entries per request are %d. You have sent %d.", maxBatch, len(entries))
	}
	seen := map[string]bool{}
	for _, e := range entries {
		i := id(e)
		if i == "" || len(i) > 80 || strings.Trim(i, nameCharacters) != "" {
			return modelled("InvalidBatchEntryId", true, "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "+
				"It can be at most 80 letters long.")
		}
		if seen[i] {
			return modelled("BatchEntryIdsNotDistinct", true, "Id %s repeated.", i)
		}
		seen[i] = true
	}
	return nil
}

// batchResult answers a batch: each entry is in one of the two lists.
type batchResult[R any] struct {
	Successful []R          `json:",omitempty"`
	Failed     []batchError `json:",omitempty"`
}

type batchError struct {
	Id          string
	Code        string
	Message     string
	SenderFault bool
}

func (b *batchResult[R]) add(id string, result R, err error) {
	var api *apiError
	switch {
	case err == nil:
		b.Successful = append(b.Successful, result)
	case errors.As(err, &api):
		b.Failed = append(b.Failed, batchError{Id: id, Code: api.code(), Message: api.Message, SenderFault: api.Status < 500})
	default:
		e := errInternal()
		b.Failed = append(b.Failed, batchError{Id: id, Code: e.code(), Message: e.Message})
	}
}

// idResult answers an entry of a batch that returns nothing.
type idResult struct{ Id string }
