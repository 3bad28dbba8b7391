/** Ordinary English words of 3 to 16 letters. */
const TEXT = `
act age air ant arm art ash bag bat bed bee bell bird boat bone book boot bowl box bread brick bridge broom brush bucket
bus bush button cabin cake camel camp candle canoe car card carpet carrot castle cat cave chain chair chalk cheese cherry
chest chicken child chimney church circle city clay clock cloth cloud clown coal coat coin comb cook copper coral corn
cotton couch cow crab cradle crane cream crow crown cup curtain cushion dad dance dawn day deer desert desk diamond dinner
dish ditch doctor dog doll door dragon drawer dream dress drum duck dust eagle ear earth egg elbow engine evening eye face
fairy family farm feather fence fern field finger fire fish flag flame flood floor flour flower fly fog food foot forest
fork fountain fox friend frog fruit garden garlic gate ghost gift giraffe glass glove goat gold goose grain grape grass
grave green guest guitar hair hall ham hammer hand harbor hat hawk hay head heart hen herb hill hole honey hook horn horse
hour house hunter ice ink insect iron island ivy jacket jam jar jeans jewel joke judge juice jump jungle key king kitchen
kite kitten knee knife knot ladder lake lamb lamp lantern leaf leather lemon letter library light lily lime lion lip lizard
lock log lunch magic mail man map maple marble market mask meadow meal meat melon metal milk mill mind mirror money monkey
moon morning mosquito moss mother mountain mouse mouth mud mushroom music nail name napkin neck needle nest net night north
nose note nurse nut oak ocean office oil olive onion orange orchid otter oven owl oyster page paint palace palm pan
paper parrot party path peach peanut pearl pebble pen pencil pepper perfume piano picture pie pig pillow pilot pine pipe
pirate planet plant plate pocket poem pond pony popcorn potato powder prince pumpkin puppet puppy purple purse puzzle queen
quilt rabbit radio rain ranch rat raven record red ribbon rice ring river road robin rock roof room root rope rose ruby rug
ruler sack saddle sail salad salmon salt sand sandal saucer scarf school scissors sea seal seed shadow shark sheep sheet
shelf ship shirt shoe shop shore shovel silk silver sister skate skirt sky sled sleep slope smile smoke snail snake snow
soap sock sofa soil song soup spade spark sparrow spider spinach spirit spoon spring square squirrel stable star station
steam steel stem stick stone store storm stove straw stream street string sugar suit summer sun swan sweater swing sword
table tail tea teacher temple tent thread throat throne thumb thunder ticket tiger tile tin toad toast tomato tongue tooth
towel tower town toy train tree tulip tunnel turkey turtle uncle valley vase vest village vine violet violin voice wagon
wall walnut water wave wax weather wheat wheel whale whistle window wine wing winter wolf woman wood wool worm yard year
yellow zebra zipper
absence academy accident accountant adventure advertisement afternoon agreement agriculture airplane alphabet ambulance
ancestor animation announcement apartment apprentice arithmetic arrangement assembly assignment astronaut atmosphere
attention automobile avalanche background bakery balance balloon banana basement basketball battery beginning behavior
biography blackboard blueberry bookkeeper boulevard breakfast brilliant broccoli butterfly calculator calendar cathedral
celebration centimeter certificate championship character chocolate cinnamon civilization classification collection
comfortable committee communication community comparison competition composition concentration conference congratulation
connection consequence conservation construction contribution conversation cooperation correspondence countryside
crocodile curiosity dandelion deadline decision decoration definition delicious democracy demonstration department
description destination determination development dictionary difference difficulty dinosaur disappointment discovery
discussion distribution documentary earthquake economy education electricity elephant elevator embarrassment emergency
employment encouragement encyclopedia engineering entertainment enthusiasm environment equipment establishment evaluation
examination excellent excitement exhibition expedition experience experiment explanation expression extraordinary
fascination favorite festival fireplace flexibility foundation frequency friendship frustration generation gentleman
geography geometry government grandmother grasshopper gymnasium handkerchief headquarters helicopter hippopotamus history
holiday horizon hospital hospitality household hurricane illustration imagination immediately importance impossible
improvement independence individual information ingredient inspiration institution instruction instrument intelligence
interesting international interpretation introduction investigation invitation journalist kangaroo kilometer kindergarten
knowledge laboratory landscape language lawnmower leadership lemonade literature locomotive magazine maintenance
manufacturer marmalade marvelous mathematics measurement mechanical medicine membership microphone microscope millionaire
miscellaneous misunderstanding moisture mozzarella multiplication necessary neighborhood newspaper nightingale
nomination observation occasionally occurrence opportunity orchestra organization paragraph parallel parliament
participation particularly passenger peppermint performance permission personality perspective pharmacy philosophy
photograph pineapple playground pollution population possession possibility pottery precipitation preparation
presentation president professional pronunciation propaganda proportion psychology publication punctuation
questionnaire rainbow raspberry reception recognition recommendation refrigerator relationship representation
reservation responsibility restaurant revolution rhinoceros satisfaction scarecrow schedule science scientist
secretary settlement signature significance skyscraper snowflake solution statement strawberry submarine
subscription successful sunflower supermarket surrounding tambourine technology telephone telescope television
temperature territory thermometer thoroughly throughout tournament tradition transformation transportation
treasure trigonometry trumpet typewriter umbrella uncomfortable understanding university vaccination vegetable
vocabulary volunteer watermelon wheelbarrow wilderness woodpecker xylophone yesterday
`;

/** The words, shortest first. */
export const WORDS: readonly string[] = [...new Set(TEXT.trim().split(/\s+/))].toSorted(
  (a, b) => a.length - b.length || (a < b ? -1 : 1),
);

/** The words of a length from `least` to `most`. */
export function wordsOfLength(least: number, most: number): readonly string[] {
  return WORDS.filter(({ length }) => length >= least && length <= most);
}
