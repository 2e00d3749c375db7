// The server: what the lab can do, and a race as a stream of events.

export class Refusal extends Error {
  constructor(message, mistakes = []) {
    super(message);
    this.mistakes = mistakes;
  }
}

async function refusal(response) {
  const text = await response.text();
  try {
    const told = JSON.parse(text);
    return new Refusal(told.error ?? text, told.mistakes ?? []);
  } catch {
    return new Refusal(text || `the server answered ${response.status}`);
  }
}

export async function lab() {
  const response = await fetch("/api/lab");
  if (!response.ok) throw await refusal(response);
  return response.json();
}

// Gives each event to `take` as it comes. Aborting the signal ends the race on the server, too.
export async function race(body, signal, take) {
  const response = await fetch("/api/race", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw await refusal(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let ended = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line.trim() === "") continue;
      const event = JSON.parse(line);
      ended ||= event.kind === "end";
      take(event);
    }
  }
  if (!ended) throw new Refusal("the race broke off: the server closed the connection before the end");
}
