package platform

import (
	"encoding/json"
	"io"
	"time"

	"bailing/shared/clock"
)

// namespace groups the product's metrics in CloudWatch.
const namespace = "Bailing"

// Metrics writes CloudWatch embedded metric format: one JSON line per value, which CloudWatch Logs turns into a metric. The
// function's name is a dimension of each. Dimensions never carry ids, tenants or payloads.
type Metrics struct {
	w        io.Writer // safe for concurrent use, one line a write
	clock    clock.Clock
	function string
}

// NewMetrics writes to w.
func NewMetrics(w io.Writer, c clock.Clock, function string) *Metrics {
	return &Metrics{w: w, clock: c, function: function}
}

// Count adds v to a metric. dims alternate name and value.
func (m *Metrics) Count(name string, v float64, dims ...string) { m.write(name, "Count", v, dims) }

// Duration records d in milliseconds.
func (m *Metrics) Duration(name string, d time.Duration, dims ...string) {
	m.write(name, "Milliseconds", float64(d.Microseconds())/1000, dims)
}

type metricDirective struct {
	Namespace  string       `json:"Namespace"`
	Dimensions [][]string   `json:"Dimensions"`
	Metrics    []metricUnit `json:"Metrics"`
}

type metricUnit struct {
	Name string `json:"Name"`
	Unit string `json:"Unit"`
}

func (m *Metrics) write(name, unit string, v float64, dims []string) {
	names := []string{"function"}
	line := map[string]any{"function": m.function, name: v}
	for i := 0; i+1 < len(dims); i += 2 {
		names = append(names, dims[i])
		line[dims[i]] = dims[i+1]
	}
	line["_aws"] = map[string]any{
		"Timestamp": m.clock.Now().UnixMilli(),
		"CloudWatchMetrics": []metricDirective{{
			Namespace: namespace, Dimensions: [][]string{names}, Metrics: []metricUnit{{Name: name, Unit: unit}},
		}},
	}
	b, err := json.Marshal(line)
	if err != nil {
		return // only a NaN or infinite value gets here: there is no metric to write
	}
	// A metric that cannot be written is lost; failing the request for it would be worse.
	_, _ = m.w.Write(append(b, '\n'))
}
