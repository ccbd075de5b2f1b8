package builtin

import (
	_ "embed" // for the directives below
	"encoding/json"
	"fmt"
)

// The model in the binary. A string lies in the pages of the program: what is not read is
// not loaded.
var (
	//go:embed model/table.bin
	shippedTable string
	//go:embed model/card.json
	shippedCard string
)

// Card says what a model is and what it was made from. It is written beside the model by
// command train.
type Card struct {
	// Artifact is the sha256 of the table.
	Artifact string `json:"artifact"`
	// Corpus is the sha256 of the corpus manifest that it was trained on. NOTICE.txt beside
	// it lists the sources with their licences.
	Corpus    string `json:"corpus"`
	Words     int    `json:"words"`
	Dimension int    `json:"dimension"`
	// Pairs is how many pairs it was trained on, Epochs how often, and Seed what began it.
	Pairs  int    `json:"pairs"`
	Epochs int    `json:"epochs"`
	Seed   uint64 `json:"seed"`
	// MRR is the mean reciprocal rank of the code of a pair that was held out, among 500.
	MRR float64 `json:"held_out_mrr"`
}

// ShippedCard returns the card of the model in the binary.
func ShippedCard() Card {
	var c Card
	if err := json.Unmarshal([]byte(shippedCard), &c); err != nil {
		panic(fmt.Sprintf("the card of the built-in model is malformed: %v", err))
	}
	return c
}
