"""Names of people: given names with their short forms, titles, initials."""

from __future__ import annotations

from collections.abc import Sequence

from verifiers.answer.lists import listed
from verifiers.qa_words import same_word

PARTICLES = listed("da de del di du la le van von der den bin al el of")
"""Lower-case words inside a name."""
TITLES = listed(
    "president king queen sir dame lord lady mr mrs ms dr professor prof general captain st pope emperor senator "
    "madame prince princess colonel major chancellor governor admiral reverend rev justice judge empress"
)
SUFFIXES = listed("jr sr inc ltd corp corporation co company llc plc esq phd")
_GROUPS = (
    "william will bill billy willie liam", "robert rob bob bobby robbie", "richard rick dick ricky rich richie",
    "james jim jimmy jamie", "john johnny jack jon", "michael mike mick mickey mikey", "david dave davey",
    "thomas tom tommy", "charles charlie chuck charley", "edward ed eddie ted teddy ned", "joseph joe joey",
    "daniel dan danny", "benjamin ben benny", "samuel sam sammy", "anthony tony", "andrew andy drew",
    "matthew matt", "christopher chris", "steven stephen steve", "kenneth ken kenny", "ronald ron ronnie",
    "donald don donnie", "gregory greg", "jeffrey geoffrey jeff geoff", "lawrence laurence larry", "gerald gerry jerry",
    "patrick pat paddy", "peter pete", "nicholas nick nicky", "alexander alex sandy alec",
    "frederick fred freddie freddy",
    "francis frank frankie", "henry harry hank hal", "albert al bert", "alfred alf fred", "arthur art", "philip phil",
    "leonard leo len lenny", "raymond ray", "timothy tim", "theodore ted theo teddy", "vincent vince vinny",
    "walter walt", "zachary zach zack", "jonathan jon", "nathaniel nathan nate", "eugene gene", "stanley stan",
    "elizabeth liz beth betty eliza lizzie bess", "margaret maggie meg peggy", "katherine kathryn kate kathy katie kat",
    "jennifer jen jenny", "rebecca becky", "susan sue susie", "deborah debbie deb", "patricia pat patty trish",
    "barbara barb barbie", "dorothy dot dolly", "victoria vicky vic", "christine christina chris tina", "judith judy",
    "pamela pam", "sandra sandy", "samantha sam", "alexandra alex sandra", "jessica jess", "abigail abby",
    "josephine jo josie", "eleanor ellie nell", "frances fran", "theresa teresa terry tess", "veronica ronnie",
)  # fmt: skip
_OTHERS = listed(
    "adam alan allan allen alice amanda amy andrea angela ann anna anne annie antonio arnold ashley barack barry "
    "bernard brad bradley brandon brian bruce bryan calvin carl carlos carol caroline carolyn catherine charlotte "
    "cheryl claire clara clarence claude colin craig cynthia dean denise dennis diana diane donna douglas dylan earl "
    "edgar edith edmund elaine eleanor ellen elvis emily emma eric ernest erwin ethan evelyn felix fiona franklin "
    "gabriel gary george georgia gilbert glenn gloria gordon grace graham grant hannah harold harriet heather hector "
    "helen herbert herman hermann hillary howard hugh hugo ian ingrid irene isaac isabella ivan jacob jacqueline jane "
    "janet jason jay jean jeremy jesse joan joanna joel johann johannes jose joshua joyce juan julia julian julie "
    "justin karen karl katharine keith kelly kevin kim kurt laura lauren lee leon leonardo leslie lewis linda lisa "
    "louis louise lucas lucy luis luke marc marcus maria marie marilyn mario mark martha martin mary maurice melissa "
    "meryl michelle miguel mohammed monica morgan nancy natalie neil nelson noah nora norman olivia oliver oscar otto "
    "pablo paul paula pedro penelope rachel ralph reginald rene ringo robin roger roland rosa rose roy russell ruth "
    "ryan salvador sarah scott sean sharon shirley sidney simon sophia sophie stephanie stuart sylvester sylvia taylor "
    "terence tiffany tyler ulysses ursula valerie vera virgil virginia vladimir wallace wayne wendy wilhelm winston "
    "wolfgang woodrow yuri yvonne"
)
_MEMBERS = tuple(frozenset(group.split()) for group in _GROUPS)
GIVEN = _OTHERS.union(*_MEMBERS)


def same_given(left: str, right: str) -> bool:
    """Two forms of one given name: Dave and David."""
    return left in GIVEN and any(left in group and right in group for group in _MEMBERS)


def same_in_name(left: str, right: str) -> bool:
    """Equal in the part of a name before the last word: spelling, another form of the given name, an initial."""
    if 1 in (len(left), len(right)):
        return left[0] == right[0] and left[0].isalpha()
    return same_word(left, right) or same_given(left, right)


def initials(block: str, words: Sequence[str]) -> int:
    """How many of the words a block of initials stands for: jrr for john ronald reuel; 0 for none."""
    size = len(block)
    if not 2 <= size <= 4 or len(words) < size or not block.isalpha():
        return 0
    return size if all(word[0] == letter and len(word) > 1 for letter, word in zip(block, words, strict=False)) else 0
