// A row of tokens to walk through with the arrow keys, and the card beside the token pointed at.

const kHideAfter = 250;  // milliseconds, long enough to reach the card

const card = document.getElementById("card");
let hiding = 0;
let owner = null;  // the token that the card is about

function hideCard() {
  card.hidden = true;
  owner = null;
}

function hideSoon() {
  clearTimeout(hiding);
  hiding = setTimeout(hideCard, kHideAfter);
}

function placeCard(token) {
  const at = token.getClientRects()[0];
  if (!at) return;
  const left = Math.max(6, Math.min(at.left, innerWidth - card.offsetWidth - 6));
  const below = at.bottom + 4;
  const fits = below + card.offsetHeight < innerHeight;
  card.style.left = `${left + scrollX}px`;
  card.style.top = `${(fits ? below : at.top - card.offsetHeight - 4) + scrollY}px`;
}

function showCard(token, content) {
  clearTimeout(hiding);
  if (owner === token) return;
  owner = token;
  card.replaceChildren(...content);
  card.hidden = false;
  placeCard(token);
}

card.addEventListener("pointerenter", () => clearTimeout(hiding));
card.addEventListener("pointerleave", hideSoon);
card.addEventListener("click", hideCard);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideCard();
});
window.addEventListener("hashchange", hideCard);

function walk(box, event) {
  const tokens = [...box.querySelectorAll("[data-index]")];
  const here = tokens.indexOf(event.target);
  const next = {ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tokens.length - 1}[event.key];
  if (here < 0) return;
  if (event.key === "Enter" || event.key === " ") {
    event.target.click();
  } else if (tokens[next]) {
    tokens[here].tabIndex = -1;
    tokens[next].tabIndex = 0;
    tokens[next].focus();
  } else {
    return;
  }
  event.preventDefault();
}

// The tokens of `box` are elements with data-index; one of them at a time can be reached with Tab.
// contentOf(index): the card's elements. onChoose(index): a click or Enter.
export function makeTokenRow(box, {contentOf, onChoose = () => {}}) {
  const tokenOf = (event) => event.target.closest("[data-index]");
  const show = (event) => {
    const token = tokenOf(event);
    if (token) showCard(token, contentOf(Number(token.dataset.index)));
  };
  box.addEventListener("pointerover", show);
  box.addEventListener("focusin", show);
  box.addEventListener("pointerout", hideSoon);
  box.addEventListener("focusout", hideSoon);
  box.addEventListener("keydown", (event) => walk(box, event));
  box.addEventListener("click", (event) => {
    const token = tokenOf(event);
    if (!token) return;
    hideCard();
    onChoose(Number(token.dataset.index));
  });
}

// Tab reaches the first token.
export function letTabReach(box) {
  const first = box.querySelector("[data-index]");
  if (first) first.tabIndex = 0;
}
