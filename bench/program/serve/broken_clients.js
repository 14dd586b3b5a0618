// Connections that send nothing, or little by little. As a program of its own: opens many and keeps them.
//   node broken_clients.js PORT COUNT LOCAL_ADDRESS

import net from "node:net";
import {fileURLToPath} from "node:url";

// Opens so many connections from an address, some at a time; returns those that were made.
export async function connectMany(port, count, localAddress) {
  const sockets = [];
  const open = () => new Promise((resolve) => {
    const socket = net.connect({host: "127.0.0.1", port, localAddress}, () => { sockets.push(socket); resolve(); });
    socket.on("error", resolve);
  });
  for (let left = count; left > 0; left -= 200) await Promise.all(Array.from({length: Math.min(left, 200)}, open));
  return sockets;
}

// Each socket sends this text over and over, a byte at a time; returns what stops it.
export function trickle(sockets, text) {
  let place = 0;
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write(text[place % text.length]);
    ++place;
  }, 100);
  return () => clearInterval(timer);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [port, count, address] = process.argv.slice(2);
  const sockets = await connectMany(Number(port), Number(count), address);
  process.send(sockets.length);
  setInterval(() => {}, 1000);  // keeps them open
}
