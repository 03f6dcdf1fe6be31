package delivery

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"bailing/shared/clock"
	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/signature"
)

// ErrNoSecret is final: an unsigned message would be worth nothing.
var ErrNoSecret = errors.New("there is no secret to sign with: the job has no client and the hub no server token")

// Poster signs messages and sends each once. It is safe for concurrent use.
type Poster struct {
	Clients     Clients
	Secrets     Opener
	HTTP        HTTP
	ServerToken string // signs for jobs without a client; "" = none
	Clock       clock.Clock
}

// Message is one signed POST (core §2.1).
type Message struct {
	ID    string // the same for all attempts, by which a receiver knows what it has (D7)
	Owner string // app_id whose token signs; "" = the server token
	URL   string
	Body  []byte
}

// Answer is what came of an attempt.
type Answer struct {
	Delivered bool   // 2xx
	Final     bool   // no further attempt could end differently
	Status    int    // 0 = no answer
	Reason    string // "" when delivered
}

// Post signs m with the present secret, in both styles, and sends it once, within [AttemptTimeout] and without following redirects.
// Whatever the receiver does is an Answer; an error, such as [ErrNoSecret], is the hub's own failure.
func (p *Poster) Post(ctx context.Context, m Message) (Answer, error) {
	v, err := p.post(ctx, m)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Delivered: v.delivered, Final: v.final, Status: v.status, Reason: v.reason}, nil
}

func (p *Poster) post(ctx context.Context, m Message) (verdict, error) {
	secret, err := p.Secret(ctx, m.Owner)
	if err != nil {
		return verdict{}, err
	}
	now := p.Clock.Now()
	signed := signature.SignCallback(secret, m.Body, now)
	standard := signature.SignWebhook(secret, m.ID, m.Body, now)
	res, err := p.HTTP.Do(ctx, outbound.Request{
		Method: http.MethodPost, URL: m.URL, Body: m.Body, Timeout: AttemptTimeout, MaxResponse: answerMax, OneSend: true,
		Header: http.Header{
			"Content-Type":        {"application/json"},
			"X-Bailing-Timestamp": {signed.Timestamp}, "X-Bailing-Signature": {signed.Signature},
			"Webhook-Id": {standard.ID}, "Webhook-Timestamp": {standard.Timestamp}, "Webhook-Signature": {standard.Signature},
		},
	})
	return judge(res, err, p.Clock.Now()), nil
}

// Secret is the first of core §2.2 that exists, as it is now.
func (p *Poster) Secret(ctx context.Context, owner string) (string, error) {
	if owner != "" {
		c, err := p.Clients.Get(ctx, owner)
		if err != nil {
			return "", fmt.Errorf("delivery: client: %w", err)
		}
		if c != nil {
			token, err := p.Secrets.Open(ctx, c.Value.SealedToken, registry.ClientTokenContext(owner))
			if err != nil {
				return "", fmt.Errorf("delivery: token of %s: %w", owner, err)
			}
			return string(token), nil
		}
	}
	if p.ServerToken == "" {
		return "", ErrNoSecret
	}
	return p.ServerToken, nil
}
