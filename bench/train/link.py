#!/usr/bin/env python3
"""A network link between two network namespaces with a bandwidth and a delay of our own: kernels without
netem have no delay. Packets go through two TAP devices and this process.

  link.py NAMESPACE0 ADDRESS0 NAMESPACE1 ADDRESS1 BITS_PER_SECOND DELAY_SECONDS

Prints "ready" when the link is up, and runs until it is killed. Packets are as long as a TAP device allows,
so that one process can carry a gigabit per second. Needs root and ip.
"""

import collections
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
LONGEST_PACKET = 60000
MOST_WAITING = 16 << 20  # bytes; what comes beyond is lost, as in a switch


def open_tap(name, namespace, address):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    for command in (["ip", "link", "set", name, "netns", namespace],
                    ["ip", "-n", namespace, "addr", "add", address + "/24", "dev", name],
                    ["ip", "-n", namespace, "link", "set", name, "mtu", str(LONGEST_PACKET), "up"],
                    ["ip", "-n", namespace, "link", "set", "lo", "up"]):
        subprocess.run(command, check=True)
    return device


class Way:
    """One direction: a packet leaves when those before it are sent, and arrives after the delay."""

    def __init__(self, source, target, rate, delay):
        self.source, self.target, self.rate, self.delay = source, target, rate, delay
        self.packets = collections.deque()  # (when it arrives, packet)
        self.waiting, self.free = 0, 0.0

    def take(self, now):
        while True:
            try:
                packet = os.read(self.source, LONGEST_PACKET + 64)
            except BlockingIOError:
                return
            if self.waiting + len(packet) > MOST_WAITING:
                continue
            self.free = max(self.free, now) + 8 * len(packet) / self.rate
            self.packets.append((self.free + self.delay, packet))
            self.waiting += len(packet)

    def deliver(self, now):
        while self.packets and self.packets[0][0] <= now:
            packet = self.packets.popleft()[1]
            self.waiting -= len(packet)
            try:
                os.write(self.target, packet)
            except OSError:  # the namespace is gone
                pass

    def next_arrival(self):
        return self.packets[0][0] if self.packets else None


def main():
    namespace0, address0, namespace1, address1 = sys.argv[1:5]
    rate, delay = float(sys.argv[5]), float(sys.argv[6])
    devices = [open_tap("wire0", namespace0, address0), open_tap("wire1", namespace1, address1)]
    ways = [Way(devices[0], devices[1], rate, delay), Way(devices[1], devices[0], rate, delay)]
    print("ready", flush=True)
    while True:
        arrivals = [way.next_arrival() for way in ways if way.packets]
        wait = max(0.0, min(arrivals) - time.monotonic()) if arrivals else None
        ready = select.select(devices, [], [], wait)[0]
        now = time.monotonic()
        for way in ways:
            if way.source in ready:
                way.take(now)
            way.deliver(time.monotonic())


main()
