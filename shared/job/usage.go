package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/money"
)

// Usage is what jobs used up. The zero value is nothing.
type Usage struct {
	Tokens  int64
	CostUSD money.USD
}

// IsZero reports whether nothing was used.
func (u Usage) IsZero() bool { return u.Tokens == 0 && u.CostUSD.IsZero() }

// Add is u and v together. Tokens beyond what an int64 holds stay at its end: a budget then refuses rather than begins anew.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{Tokens: math.MaxInt64, CostUSD: u.CostUSD.Add(v.CostUSD)}
	if u.Tokens <= math.MaxInt64-v.Tokens {
		sum.Tokens = u.Tokens + v.Tokens
	}
	return sum
}

// Since is what u has beyond before, each part by itself; nothing where u has less.
func (u Usage) Since(before Usage) Usage {
	return Usage{Tokens: max(0, u.Tokens-before.Tokens), CostUSD: u.CostUSD.Less(before.CostUSD)}
}

// maxJobTokens is the largest number of tokens that one job can report: the largest integer that every reader of JSON keeps exactly.
const maxJobTokens = 1<<53 - 1

// UsageIn reads the members tokens and cost_usd of a job's usage (core §1.6). What cannot be read counts as nothing, and the error
// says what that was: a job that has run ends whatever it reports.
func UsageIn(doc json.RawMessage) (u Usage, err error) {
	if len(doc) == 0 {
		return u, nil
	}
	v, err := canonical.Parse(doc, canonical.Limits{})
	if err != nil {
		return u, fmt.Errorf("job: usage: %w", err)
	}
	if tokens, ok := v.Get("tokens"); ok && tokens.Kind() != canonical.Null {
		n, exact := tokens.Int64()
		if !exact || n < 0 || n > maxJobTokens {
			err = errors.New("job: usage.tokens is no number of tokens")
		} else {
			u.Tokens = n
		}
	}
	if cost, ok := v.Get("cost_usd"); ok && cost.Kind() != canonical.Null {
		amount, badCost := money.Parse(cost.Number())
		if badCost != nil {
			err = errors.Join(err, fmt.Errorf("job: usage.cost_usd: %w", badCost))
		}
		u.CostUSD = amount
	}
	return u, err
}

// UsageScope is whose jobs are counted together.
type UsageScope struct {
	Kind UsageKind
	Name string // a route's key or a client's app_id
}

// UsageKind is a kind of scope.
type UsageKind string

const (
	UsageOfRoute  UsageKind = "route"
	UsageOfClient UsageKind = "client"
)

// UsageWindow asks for the usage of one scope from Since until Now.
type UsageWindow struct {
	Scope      UsageScope
	Since, Now time.Time
}

// CostRow is what the jobs of one route used on one day at one target.
type CostRow struct {
	Day    string // 2006-01-02, UTC
	Route  string // its key
	Target string
	Jobs   int64 // those that ended for the first time
	Usage
}
