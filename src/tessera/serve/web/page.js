// Lists what the server serves.

async function list(path, element, describe) {
  const response = await fetch(path);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  for (const entry of answer.data) {
    const item = document.createElement("li");
    item.textContent = describe(entry);
    element.append(item);
  }
}

try {
  await list("/v1/models", document.getElementById("models"),
             (model) => `${model.id}: ${model.kind}, ${model.tokenizer}`);
  await list("/v1/stores", document.getElementById("stores"),
             (store) => `${store.id}: ${store.documents} documents, ${store.tokens} tokens`);
} catch (error) {
  const problem = document.getElementById("problem");
  problem.textContent = error.message;
  problem.hidden = false;
}
