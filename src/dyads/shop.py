"""The small shop of the purchase log: its aisles and the names of its shoppers."""

from __future__ import annotations

_TEXT = {
    "everyday": "milk/bread/bananas/eggs/butter/apples/toilet paper/dish soap/pasta/tomatoes/onions/orange juice",
    "coffee": "espresso beans/paper filters/moka pot/milk frother/filter coffee/burr grinder/espresso cups/"
    "french press/descaler/decaf beans/cold brew jar/coffee scale",
    "camping": "gas canister/head torch/sleeping bag/camping stove/two-person tent/sleeping mat/water filter/"
    "tent pegs/rain poncho/folding knife/trail mix/compass",
    "baking": "flour/baking powder/vanilla sugar/dark chocolate/yeast/cake tin/rolling pin/piping bag/cinnamon/"
    "almond meal/muffin cups/cookie cutters",
    "garden": "potting soil/tomato seeds/watering can/garden gloves/basil seeds/pruning shears/plant fertiliser/"
    "flower pots/lawn seed/rake/bird feeder/slug fence",
    "cycling": "inner tube/chain oil/bike light/bike helmet/tyre levers/bike pump/bottle cage/cycling gloves/"
    "brake pads/pannier bag/bike lock/puncture kit",
    "cats": "cat litter/wet cat food/dry cat food/cat treats/scratching post/catnip mouse/cat brush/litter scoop/"
    "cat flap/food bowl/cat carrier/flea collar",
    "painting": "acrylic set/round brushes/sketchbook/stretched canvas/watercolours/pencil set/palette knife/easel/"
    "masking tape/gesso/charcoal sticks/fixative spray",
    "running": "running socks/energy gel/running shoes/sports bottle/running shorts/foam roller/reflective vest/"
    "heart rate strap/headband/blister plasters/electrolyte tabs/running cap",
    "sewing": "sewing thread/pin cushion/fabric scissors/cotton fabric/zip fasteners/tape measure/bobbins/"
    "machine needles/elastic band/buttons/tailor chalk/seam ripper",
    "baby": "nappies/baby wipes/baby formula/fruit puree/bibs/dummy/baby shampoo/teething ring/nappy cream/"
    "baby bottle/sleep sack/cloth book",
    "sushi": "sushi rice/nori sheets/soy sauce/rice vinegar/wasabi/pickled ginger/bamboo mat/sesame seeds/"
    "chopsticks/miso paste/fish sauce/tempura flour",
}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


AISLES = {name: tuple(products.split("/")) for name, products in _TEXT.items()}
EVERYDAY = list(AISLES).index("everyday")
WEIGHTS = (20, 17, 15, 13, 11, 9, 8, 7, 6, 5, 4, 3)  # of 118 looks into an aisle, so many go to each of its products
FIRST_NAMES = _words(
    "ann ben cleo dan eva finn gita hugo ines jon kira leo mina noah olga paul quin rosa sam tara uma vito wanda xena "
    "yara zoe amir bella carl dora"
)
LAST_NAMES = _words(
    "baker costa diaz evans fischer garcia hansen ito jensen khan lopez meyer novak okafor park rossi silva tanaka "
    "usman vega"
)
