/* What the page asks its server. */

const STREAM_MIN_CHARACTERS = 400;
const ALTERNATIVES = 3;
const UNREACHABLE = "The server cannot be reached: check that it is running, then continue typing.";

class Refused extends Error {}

async function refusal(answer) {
  try {
    const { error } = await answer.json();
    if (typeof error === "string") return new Refused(error);
  } catch (failure) {
    // not the JSON of this server, such as the page of a proxy
  }
  return new Refused(`The server answered ${answer.status}: try again.`);
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new Refused(UNREACHABLE);
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

/* Translate a text. `part` is told of what there is so far; resolves to all of it. */
async function translate(asked, signal, part = null) {
  const streamed = part && asked.q.length >= STREAM_MIN_CHARACTERS;
  const fields = { ...asked, details: true, ...(streamed ? {} : { alternatives: ALTERNATIVES }) };
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fields), signal };
  const answer = await ask(streamed ? "translate_stream" : "translate", options);
  if (streamed) return read(answer, asked.q, part);
  const { translatedText: text, alternatives, details, detectedLanguage } = await answer.json();
  return { text, alternatives, detected: detectedLanguage, sentences: inUnits(details.sentences, asked.q, text) };
}

/* The parts of a stream, put together. */
async function read(answer, source, part) {
  const found = { text: "", alternatives: [], sentences: [] };
  const details = [];
  const take = (line) => {
    const value = JSON.parse(line);
    if (value.error) throw new Refused(value.error);
    found.text += value.translatedText;
    found.detected ??= value.detectedLanguage;
    if (value.details) details.push(value.details);
    part(found);
  };
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const lines = (rest + next.value).split("\n");
    rest = lines.pop();
    lines.forEach(take);
  }
  found.sentences = inUnits(details, source, found.text);
  return found;
}
