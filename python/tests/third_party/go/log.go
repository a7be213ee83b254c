package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"
)

// digest is a hash, hexadecimal in JSON.
type digest tlog.Hash

func (d *digest) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(d) {
		return fmt.Errorf("a hash of %d digits", len(text))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// octets are any bytes, hexadecimal in JSON.
type octets []byte

func (o *octets) UnmarshalText(text []byte) error {
	bytes, err := hex.DecodeString(string(text))
	*o = bytes
	return err
}

// inclusion says that an entry is in a tree.
type inclusion struct {
	Index int64
	Entry octets
	Size  int64
	Root  digest
	Proof []digest
}

// growth says that a tree begins with an older one.
type growth struct {
	Old     int64
	OldRoot digest `json:"old_root"`
	New     int64
	NewRoot digest `json:"new_root"`
	Proof   []digest
}

// proofFile is a proof as a text of its own.
type proofFile struct {
	Index int64
	Entry octets
	Text  string
}

// exported is what a test wrote of a log: log.json, and the exported tiles in a folder beside it.
type exported struct {
	// The vkey of the key that signs, under its own name.
	VKey string `json:"vkey"`
	// The vkey of another key of the same name.
	OtherVKey string `json:"other_vkey"`
	Origin    string
	// The checkpoint of another log that the same key signs for.
	Sibling string
	Size    int64
	Root    digest
	// The first entry whose record is kept.
	FirstKept  int64 `json:"first_kept"`
	Inclusions []inclusion
	Growths    []growth
	ProofFiles []proofFile `json:"proof_files"`

	tiles      string
	checkpoint []byte
}

func read(folder string) (*exported, error) {
	text, err := os.ReadFile(filepath.Join(folder, "log.json"))
	if err != nil {
		return nil, err
	}
	log := &exported{tiles: filepath.Join(folder, "tiles")}
	if err := json.Unmarshal(text, log); err != nil {
		return nil, err
	}
	log.checkpoint, err = os.ReadFile(filepath.Join(log.tiles, "checkpoint"))
	return log, err
}

func (log *exported) tree() tlog.Tree {
	return tlog.Tree{N: log.Size, Hash: tlog.Hash(log.Root)}
}
