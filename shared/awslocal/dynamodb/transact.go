package dynamodb

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"bailing/shared/awslocal/dynamodb/attr"
	"bailing/shared/awslocal/dynamodb/expr"
)

const (
	maxTransactItems = 100
	maxTransactBytes = 4 << 20
	maxTokenLength   = 36
)

func (s *Service) transactWriteItems(c *call) ([]byte, error) {
	fingerprint, err := requestFingerprint(c.in)
	if err != nil {
		return nil, err
	}
	capacity := wantsCapacity(c.in)
	c.in.enum("ReturnItemCollectionMetrics", "NONE", "SIZE") // see writeSingle
	token := c.in.optionalText("ClientRequestToken")
	if token != nil && (len(*token) < 1 || len(*token) > maxTokenLength) {
		c.in.fail(invalid("1 validation error detected: clientRequestToken must have 1 to %d characters", maxTokenLength))
	}
	writes, err := decodeTransactWrites(c.in)
	if err != nil {
		return nil, err
	}
	used := capacityByTable{}
	err = s.commit(func(v *view) error {
		if token != nil {
			if e, ok := v.token(*token); ok {
				if e.fingerprint != fingerprint {
					return &apiError{code: codeTokenMismatch, message: "The request uses the same client token as a previous, but non-identical request"}
				}
				return nil // done before; succeeds again without effect
			}
		}
		effects, err := decideTransaction(v, writes)
		if err != nil {
			return err
		}
		for _, e := range effects {
			e.stage(v)
			used[e.table.spec.name] += 2 * writeUnits(e.size())
		}
		if token != nil {
			v.remember(*token, fingerprint)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var o objectWriter
	if capacity {
		used.write(&o, tablesOf(writes))
	}
	return o.bytes(), nil
}

// requestFingerprint identifies the content of a request. JSON members are compared without regard to their order, lists with it.
func requestFingerprint(in *object) ([32]byte, error) {
	content := make(map[string]any, len(in.members))
	for name, v := range in.members {
		if name != "ClientRequestToken" {
			content[name] = v
		}
	}
	canonical, err := json.Marshal(content) // sorts members
	if err != nil {
		return [32]byte{}, fmt.Errorf("fingerprint a transaction: %w", err)
	}
	return sha256.Sum256(canonical), nil
}

func decodeTransactWrites(in *object) ([]*itemWrite, error) {
	in.require("TransactItems")
	actions := in.list("TransactItems")
	checkActionCount(in, len(actions))
	var writes []*itemWrite
	payload := 0
	for _, a := range actions {
		w := decodeTransactWrite(a)
		if *in.first != nil {
			return nil, *in.first
		}
		payload += w.payload
		writes = append(writes, w)
	}
	if payload > maxTransactBytes {
		in.fail(invalid("Transaction payload size cannot exceed %d bytes: %d bytes", maxTransactBytes, payload))
	}
	return writes, in.done()
}

func checkActionCount(in *object, n int) {
	if n < 1 || n > maxTransactItems {
		in.fail(invalid("1 validation error detected: transactItems has %d members, it must have between 1 and %d", n, maxTransactItems))
	}
}

// decodeTransactWrite reads {"Put":{…}}, {"Update":{…}}, {"Delete":{…}} or {"ConditionCheck":{…}}. Errors go to in.
func decodeTransactWrite(in *object) *itemWrite {
	var out *itemWrite
	for _, kind := range []writeKind{writePut, writeUpdate, writeDelete, writeCheck} {
		if !in.has(string(kind)) {
			continue
		}
		if out != nil {
			in.fail(invalid("TransactItems can only contain one of Check, Put, Update or Delete"))
			return out
		}
		inner := in.object(string(kind))
		w, err := decodeWrite(kind, inner)
		if done := inner.done(); done != nil {
			err = done
		}
		switch {
		case err != nil:
			in.fail(err)
			return &itemWrite{}
		case kind == writeUpdate && w.update == nil:
			in.fail(invalid("The member %s must not be null", inner.at("UpdateExpression")))
		case kind == writeCheck && w.condition == nil:
			in.fail(invalid("The member %s must not be null", inner.at("ConditionExpression")))
		}
		out = w
	}
	if out == nil {
		in.fail(invalid("TransactItems can only contain one of Check, Put, Update or Delete"))
	}
	in.fail(in.done())
	return out
}

// decideTransaction decides all actions against the same state. Either every action has an effect or the error says why not.
func decideTransaction(v *view, writes []*itemWrite) ([]effect, error) {
	tables := make([]*table, len(writes))
	ids := make([]itemID, len(writes))
	for i, w := range writes {
		t, err := w.resolve(v)
		if err != nil {
			// Like the service: the first action that does not fit its table ends the examination.
			reasons := noReasons(len(writes))
			if reasons[i], err = asReason(err); err != nil {
				return nil, err
			}
			return nil, canceled(reasons)
		}
		tables[i], ids[i] = t, itemID{w.table, t.spec.key.encode(w.item)}
	}
	if duplicates(ids) {
		return nil, invalid("Transaction request cannot include multiple operations on one item")
	}
	effects, reasons := make([]effect, len(writes)), noReasons(len(writes))
	failed := false
	for i, w := range writes {
		var err error
		if effects[i], err = w.decide(v, tables[i]); err == nil {
			continue
		}
		failed = true
		if reasons[i], err = asReason(err); err != nil {
			return nil, err
		}
	}
	if failed {
		return nil, canceled(reasons)
	}
	return effects, nil
}

func noReasons(n int) []reason {
	reasons := make([]reason, n)
	for i := range reasons {
		reasons[i].code = "None"
	}
	return reasons
}

// asReason turns the failure of one action into its cancellation reason. Errors that concern the whole request come back.
func asReason(err error) (reason, error) {
	e := asAPIError(err)
	switch e.code {
	case codeConditionFailed:
		return reason{"ConditionalCheckFailed", e.message, e.item}, nil
	case codeValidation:
		return reason{"ValidationError", e.message, nil}, nil
	}
	return reason{}, err
}

// tablesOf lists the tables of a transaction in order of first use.
func tablesOf(writes []*itemWrite) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range writes {
		if !seen[w.table] {
			seen[w.table] = true
			out = append(out, w.table)
		}
	}
	return out
}

// transactGet is one action of a TransactGetItems.
type transactGet struct {
	table      string
	key        attr.Map
	projection *expr.Projection
}

func (s *Service) transactGetItems(c *call) ([]byte, error) {
	capacity := wantsCapacity(c.in)
	gets, err := decodeTransactGets(c.in)
	if err != nil {
		return nil, err
	}
	found, err := s.readTransaction(gets)
	if err != nil {
		return nil, err
	}
	var o objectWriter
	used := capacityByTable{}
	var tables []string
	o.list("Responses", len(gets), func(b []byte, i int) []byte {
		var r objectWriter
		size := 0
		if found[i] != nil {
			size = found[i].size
			r.item("Item", projected(gets[i].projection, found[i].item))
		}
		if _, seen := used[gets[i].table]; !seen {
			tables = append(tables, gets[i].table)
		}
		used[gets[i].table] += 2 * readUnits(size, true)
		return append(b, r.bytes()...)
	})
	if capacity {
		used.write(&o, tables)
	}
	return o.bytes(), nil
}

func decodeTransactGets(in *object) ([]transactGet, error) {
	in.require("TransactItems")
	actions := in.list("TransactItems")
	checkActionCount(in, len(actions))
	var gets []transactGet
	for _, a := range actions {
		a.require("Get")
		inner := a.object("Get")
		if inner == nil {
			return nil, *in.first
		}
		inner.require("Key")
		g := transactGet{table: inner.text("TableName"), key: inner.item("Key")}
		var err error
		if g.projection, err = projector(inner); err != nil {
			in.fail(err)
		}
		in.fail(inner.done())
		in.fail(a.done())
		gets = append(gets, g)
	}
	return gets, in.done()
}

// readTransaction reads all items at one moment; nil is an item that does not exist.
func (s *Service) readTransaction(gets []transactGet) ([]*record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, ids := make([]*record, len(gets)), make([]itemID, len(gets))
	bytes := 0
	for i, g := range gets {
		t, err := s.table(g.table)
		if err != nil {
			return nil, err
		}
		if err := t.spec.checkKey(g.key); err != nil {
			reasons := noReasons(len(gets))
			if reasons[i], err = asReason(err); err != nil {
				return nil, err
			}
			return nil, canceled(reasons)
		}
		ids[i] = itemID{g.table, t.spec.key.encode(g.key)}
		if found[i] = t.get(ids[i].key); found[i] != nil {
			bytes += found[i].size
		}
	}
	switch {
	case duplicates(ids):
		return nil, invalid("Transaction request cannot include multiple operations on one item")
	case bytes > maxTransactBytes:
		return nil, invalid("The aggregate size of the items in the transaction cannot exceed %d bytes: %d bytes", maxTransactBytes, bytes)
	}
	return found, nil
}
