package dynamodb

import (
	"maps"
	"slices"

	"bailing/shared/awslocal/dynamodb/attr"
	"bailing/shared/awslocal/dynamodb/expr"
)

// writeKind is what a write does to its item.
type writeKind string

const (
	writePut    writeKind = "Put"
	writeUpdate writeKind = "Update"
	writeDelete writeKind = "Delete"
	writeCheck  writeKind = "ConditionCheck"
)

// itemWrite is a conditional write of one item: a PutItem, UpdateItem or DeleteItem, or an action of a transaction.
type itemWrite struct {
	kind      writeKind
	table     string
	item      attr.Map // of a Put: the whole item; else its key
	condition *expr.Condition
	update    *expr.Update
	returnOld bool // show the item whose condition failed
	payload   int  // bytes that count towards the size of a transaction
}

// decodeWrite reads the members that single writes and transaction actions share. The caller still has to call in.done.
func decodeWrite(kind writeKind, in *object) (*itemWrite, error) {
	member := "Key"
	if kind == writePut {
		member = "Item"
	}
	in.require(member)
	w := &itemWrite{
		kind:      kind,
		table:     in.text("TableName"),
		item:      in.item(member),
		returnOld: in.enum("ReturnValuesOnConditionCheckFailure", "NONE", "ALL_OLD") == "ALL_OLD",
	}
	x := decodeExpressions(in)
	condition := in.optionalText("ConditionExpression")
	var update *string
	if kind == writeUpdate {
		update = in.optionalText("UpdateExpression")
	}
	if *in.first != nil {
		return nil, *in.first
	}
	w.payload = attr.ItemSize(w.item) + attr.ItemSize(x.values)
	params, err := x.params()
	if err != nil {
		return nil, err
	}
	if update != nil {
		if w.update, err = params.Update(*update); err != nil {
			return nil, err
		}
	}
	if condition != nil {
		if w.condition, err = params.Condition("ConditionExpression", *condition); err != nil {
			return nil, err
		}
	}
	return w, params.Finish()
}

// expressions are the placeholder members of a request.
type expressions struct {
	names  map[string]string
	values attr.Map
}

func decodeExpressions(in *object) expressions {
	return expressions{in.texts("ExpressionAttributeNames"), in.item("ExpressionAttributeValues")}
}

func (x expressions) params() (*expr.Params, error) { return expr.NewParams(x.names, x.values) }

// resolve finds the table and checks what its schema demands of the request.
func (w *itemWrite) resolve(v *view) (*table, error) {
	t, err := v.table(w.table)
	if err != nil {
		return nil, err
	}
	if w.kind == writePut {
		return t, t.spec.checkItem(w.item)
	}
	if w.update != nil {
		for _, name := range w.update.Attributes() {
			if t.spec.key.has(name) {
				return nil, invalidParameter("Cannot update attribute %s. This attribute is part of the key", name)
			}
		}
	}
	return t, t.spec.checkKey(w.item)
}

// effect is a decided write.
type effect struct {
	table *table
	old   *record  // before, nil when the item did not exist
	item  attr.Map // after, nil when the item does not exist
	skip  bool     // nothing to write
}

func (e effect) oldItem() attr.Map {
	if e.old == nil {
		return nil
	}
	return e.old.item
}

// decide evaluates the write against the item as it is.
func (w *itemWrite) decide(v *view, t *table) (effect, error) {
	e := effect{table: t, old: v.get(t, t.spec.key.encode(w.item))}
	old := e.oldItem()
	if w.condition != nil && !w.condition.Eval(old) {
		if w.returnOld {
			return e, conditionFailed(old)
		}
		return e, conditionFailed(nil)
	}
	switch w.kind {
	case writePut:
		e.item = w.item
	case writeDelete:
		e.skip = e.old == nil
	case writeCheck:
		e.skip = true
	case writeUpdate:
		item, err := w.updated(old)
		if err != nil {
			return e, err
		}
		e.item, e.skip = item, item == nil
		if item != nil {
			return e, t.spec.checkItem(item)
		}
	}
	return e, nil
}

// updated is the item after the update; nil when there was none and the update makes none.
func (w *itemWrite) updated(old attr.Map) (attr.Map, error) {
	item := old
	if w.update != nil {
		var err error
		if item, err = w.update.Apply(old); err != nil || item == nil {
			return nil, err
		}
	}
	if old == nil {
		item = maps.Clone(item)
		if item == nil {
			item = attr.Map{}
		}
		maps.Copy(item, w.item)
	}
	return item, nil
}

// stage makes the effect part of the group commit.
func (e effect) stage(v *view) {
	switch {
	case e.skip:
	case e.item == nil:
		v.remove(e.table, e.old)
	default:
		v.put(e.table, e.item)
	}
}

// size is the larger of the item's sizes before and after, by which writes are charged.
func (e effect) size() int {
	n := attr.ItemSize(e.item)
	if e.old != nil {
		n = max(n, e.old.size)
	}
	return n
}

// returned is what ReturnValues shows; nil is nothing.
func (w *itemWrite) returned(values string, e effect) attr.Map {
	switch values {
	case "ALL_OLD":
		return e.oldItem()
	case "ALL_NEW":
		return e.item
	case "UPDATED_OLD":
		return w.touched(e.oldItem())
	case "UPDATED_NEW":
		return w.touched(e.item)
	}
	return nil
}

func (w *itemWrite) touched(item attr.Map) attr.Map {
	if w.update == nil || item == nil {
		return nil
	}
	return w.update.Touched(item)
}

// writeSingle runs PutItem, UpdateItem and DeleteItem.
func (s *Service) writeSingle(kind writeKind, c *call, returnValues ...string) ([]byte, error) {
	returning := c.in.enum("ReturnValues", returnValues...)
	capacity := wantsCapacity(c.in)
	c.in.enum("ReturnItemCollectionMetrics", "NONE", "SIZE") // concerns local indexes only, which cannot be created
	w, err := decodeWrite(kind, c.in)
	if err := c.in.done(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	var e effect
	err = s.commit(func(v *view) error {
		t, err := w.resolve(v)
		if err != nil {
			return err
		}
		if e, err = w.decide(v, t); err != nil {
			return err
		}
		e.stage(v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var o objectWriter
	o.optionalItem("Attributes", w.returned(returning, e))
	if capacity {
		o.value("ConsumedCapacity", consumedCapacity{w.table, writeUnits(e.size())})
	}
	return o.bytes(), nil
}

func (s *Service) putItem(c *call) ([]byte, error) {
	return s.writeSingle(writePut, c, "NONE", "ALL_OLD")
}

func (s *Service) deleteItem(c *call) ([]byte, error) {
	return s.writeSingle(writeDelete, c, "NONE", "ALL_OLD")
}

func (s *Service) updateItem(c *call) ([]byte, error) {
	return s.writeSingle(writeUpdate, c, "NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")
}

// duplicates reports whether a list of item positions names one twice.
func duplicates(ids []itemID) bool {
	seen := make(map[itemID]bool, len(ids))
	return slices.ContainsFunc(ids, func(id itemID) bool {
		dup := seen[id]
		seen[id] = true
		return dup
	})
}
