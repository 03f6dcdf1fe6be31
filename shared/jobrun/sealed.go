package jobrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"bailing/shared/envelope"
	"bailing/shared/model"
	"bailing/shared/toolcall"
)

// seal returns the round as it is stored: a message that calls a sensitive tool holds its arguments, which are never stored in
// clear (I10). So is one that calls a tool unknown now: it may be a sensitive one whose provider was just disabled. sensitive says that
// it is to be sealed in any case.
func (r *run) seal(ctx context.Context, saved Round, sensitive bool) (Round, error) {
	for _, wish := range saved.Message.ToolCalls {
		t, known := r.conv.set.Find(wish.Name)
		if known && t.Tool.Sensitive || !known && wish.Name != findTools {
			sensitive = true
		}
	}
	if !sensitive {
		return saved, nil
	}
	var err error
	saved.Sealed, err = r.Secrets.Seal(ctx, mustJSON(saved.Message), toolcall.SealedPlace(r.job.ID))
	if errors.Is(err, envelope.ErrTooLarge) {
		return saved, &errFinal{fmt.Sprintf("the model's answer is larger than %d bytes", envelope.MaxPlaintext)}
	}
	saved.Message = model.Message{}
	return saved, err
}

// open brings sealed messages and answers back.
func (r *run) open(ctx context.Context, rounds []Round) error {
	place := toolcall.SealedPlace(r.job.ID)
	for i := range rounds {
		if rounds[i].Sealed != "" {
			text, err := r.Secrets.Open(ctx, rounds[i].Sealed, place)
			if err != nil {
				return fmt.Errorf("jobrun: round %d: %w", rounds[i].Number, err)
			}
			if err := json.Unmarshal(text, &rounds[i].Message); err != nil {
				return fmt.Errorf("jobrun: round %d: %w", rounds[i].Number, err)
			}
		}
		for k, rec := range rounds[i].Calls {
			if rec.Sealed == "" {
				continue
			}
			text, err := r.Secrets.Open(ctx, rec.Sealed, place)
			if err != nil {
				return fmt.Errorf("jobrun: call %d of round %d: %w", k, rounds[i].Number, err)
			}
			rec.Outcome.Text = string(text)
			rounds[i].Calls[k] = rec
		}
	}
	return nil
}
