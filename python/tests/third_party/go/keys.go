package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// What private keys begin with.
const privatePrefix = "PRIVATE+KEY+"

// generate writes a new private key, and prints the public one.
func generate(name, path string) error {
	skey, vkey, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return err
	}
	fmt.Println(vkey)
	return os.WriteFile(path, []byte(skey), 0o600)
}

// sign prints a text as a note that the key in a file signed, under this name.
func sign(path, name, textPath string) error {
	skey, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(textPath)
	if err != nil {
		return err
	}
	// As it is in the file first: what renames it is ours, and would overlook a bad one.
	if _, err := note.NewSigner(strings.TrimSpace(string(skey))); err != nil {
		return err
	}
	renamed, err := privateKeyUnder(name, strings.TrimSpace(string(skey)))
	if err != nil {
		return err
	}
	signer, err := note.NewSigner(renamed)
	if err != nil {
		return err
	}
	signed, err := note.Sign(&note.Note{Text: string(text)}, signer)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(signed)
	return err
}

// privateKeyUnder is the same private key under another name.
func privateKeyUnder(name, skey string) (string, error) {
	parts := strings.SplitN(strings.TrimPrefix(skey, privatePrefix), "+", 3)
	if len(parts) != 3 {
		return "", errors.New("a private key of fewer than three parts")
	}
	seed, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return "", errors.New("a private key of another length")
	}
	public := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	vkey, err := note.NewEd25519VerifierKey(name, public)
	if err != nil {
		return "", err
	}
	return privatePrefix + name + "+" + strings.Split(vkey, "+")[1] + "+" + parts[2], nil
}
