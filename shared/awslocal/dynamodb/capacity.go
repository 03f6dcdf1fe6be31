package dynamodb

// Units of ReturnConsumedCapacity, of the table without its indexes.
const (
	readUnitBytes  = 4096
	writeUnitBytes = 1024
)

func units(bytes, unit int) float64 { return float64(max(1, (bytes+unit-1)/unit)) }

// readUnits is what reading so many bytes consumes.
func readUnits(bytes int, consistent bool) float64 {
	u := units(bytes, readUnitBytes)
	if !consistent {
		u /= 2
	}
	return u
}

func writeUnits(bytes int) float64 { return units(bytes, writeUnitBytes) }

// wantsCapacity reads ReturnConsumedCapacity. INDEXES is refused, because index capacity is not counted.
func wantsCapacity(in *object) bool {
	return in.enum("ReturnConsumedCapacity", "NONE", "TOTAL") == "TOTAL"
}

type consumedCapacity struct {
	TableName     string
	CapacityUnits float64
}

// capacityByTable adds up the capacity of a batch or transaction.
type capacityByTable map[string]float64

func (c capacityByTable) write(o *objectWriter, tables []string) {
	list := []consumedCapacity{}
	for _, name := range tables {
		list = append(list, consumedCapacity{name, c[name]})
	}
	o.value("ConsumedCapacity", list)
}
