// The server names a token that is no whole character by its bytes, "bytes:\xe2\x80".

const kPrefix = "bytes:\\x";

export function isFragment(name) {
  return name.startsWith(kPrefix);
}

export function bytesOf(name) {
  if (!isFragment(name)) return new TextEncoder().encode(name);
  return Uint8Array.from(name.slice(kPrefix.length).split("\\x"), (byte) => parseInt(byte, 16));
}

// "byte e2", for people.
export function nameOf(name) {
  return isFragment(name) ? "byte " + name.slice(kPrefix.length).replaceAll("\\x", " ") : name;
}

// The text of these names one after the other; null where they end inside a character.
export function textOf(names) {
  const decoder = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});
  try {
    return names.map((name) => decoder.decode(bytesOf(name), {stream: true})).join("") + decoder.decode();
  } catch {
    return null;
  }
}
