package attr

// Sizes follow the item size rules of the DynamoDB developer guide: names and strings count their UTF-8 bytes, a
// number about half its significant digits plus one, a list or map 3 bytes and 1 more per element.
const (
	documentOverhead = 3
	elementOverhead  = 1
)

func (v String) Size() int { return len(v) }
func (v Binary) Size() int { return len(v) }
func (Bool) Size() int     { return 1 }
func (Null) Size() int     { return 1 }
func (v Number) Size() int { return (len(v.digits)+1)/2 + 1 }

func (v StringSet) Size() int {
	n := 0
	for _, m := range v {
		n += len(m)
	}
	return n
}

func (v NumberSet) Size() int {
	n := 0
	for _, m := range v {
		n += m.Size()
	}
	return n
}

func (v BinarySet) Size() int {
	n := 0
	for _, m := range v {
		n += len(m)
	}
	return n
}

func (v List) Size() int {
	n := documentOverhead
	for _, e := range v {
		n += elementOverhead + e.Size()
	}
	return n
}

func (v Map) Size() int {
	n := documentOverhead
	for k, e := range v {
		n += elementOverhead + len(k) + e.Size()
	}
	return n
}

// ItemSize is the size of an item in bytes: its attribute names and values, without the overhead of a nested map.
func ItemSize(item Map) int {
	n := 0
	for k, v := range item {
		n += len(k) + v.Size()
	}
	return n
}
